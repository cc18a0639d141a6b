# SPDX-License-Identifier: Apache-2.0
"""Keep the records of a run and make results.json, index.html and junit.xml from them."""
