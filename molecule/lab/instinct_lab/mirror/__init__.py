# SPDX-License-Identifier: Apache-2.0
"""The simulated vendor mirror: signed apt repositories, installers and wheels of the lab."""
