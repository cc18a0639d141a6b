# SPDX-License-Identifier: Apache-2.0
"""Find the proxy through which apt fetches, which need not be the environment's."""

from __future__ import annotations

import re
import urllib.parse
from typing import Dict, Optional

from ansible_collections.instinct.bringup.plugins.module_utils.command_runner import Run

_LINE = re.compile(r'^Acquire::(https?)::Proxy(?:::(\S+))? "([^"]*)";', re.M | re.I)
DIRECT = ""


def read_proxies(run: Run) -> Dict[str, str]:
    """Return apt's proxies: "http" or "http HOST" to a URL, or to DIRECT where apt is told to use none."""
    text = run(["apt-config", "dump"]).out
    return {
        " ".join(word for word in (scheme.lower(), host.lower()) if word): DIRECT if value == "DIRECT" else value
        for scheme, host, value in _LINE.findall(text)
        if value
    }


def proxy_for(proxies: Dict[str, str], url: str) -> Optional[str]:
    """Return the proxy that apt takes for a URL, DIRECT for none, None where only the environment may name one.

    As apt's http method does: a host's own entry first, then the scheme's; https falls back to http's.
    """
    parts = urllib.parse.urlsplit(url)
    host = (parts.hostname or "").lower()
    schemes = ["https", "http"] if parts.scheme == "https" else ["http"]
    for name in [*("%s %s" % (scheme, host) for scheme in schemes), *schemes]:
        if name in proxies:
            return proxies[name]
    return None
