# SPDX-License-Identifier: Apache-2.0
"""Simulated nodes: podman containers with made hardware and a made vendor mirror."""
