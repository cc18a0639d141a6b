# SPDX-License-Identifier: Apache-2.0
"""Take out of a recording what tells which machine and whose it is: serials, addresses, names of people.

Equal values stay equal, so that a hive is still a hive. Package mirrors keep their names: checks read them.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterable, List, Match, Optional, Pattern, Tuple

_UNIQUE = re.compile(r"^(unique_id )([1-9][0-9]*)$", re.MULTILINE)
_HIVE = re.compile(r"^(hive_id )([1-9][0-9]*)$", re.MULTILINE)
_WHOLE_NUMBER = re.compile(r"^()([1-9][0-9]*)$", re.MULTILINE)
_MAC = re.compile(r"(?i)(?<![0-9a-f:])()((?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?![0-9a-f:])")
_IPV4 = re.compile(r"(?<![0-9.])()((?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3})(?![0-9.])")
_UUID = re.compile(r"(?i)()([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
_CREDENTIALS = re.compile(r"(://)[^/\s:@]+:[^/\s@]+@")
_AUTH_WORDS = re.compile(r"(?i)^(\s*(?:password|passwd|token|secret|api_key|login)\s*[=: ]\s*).*$", re.MULTILINE)
# Numbers with dots in other files are versions.
_WITH_ADDRESSES = ("/etc/", "/proc/cmdline", "/var/log/dmesg")
_FIRST_USER = 1000
_NOBODY = 65534

Make = Callable[[int], str]


class Scrubber:
    """Replace values by neutral ones, each value always by the same.

    hostnames: names of the machine, long and short. keep_users: names that a profile uses, which stay.
    """

    def __init__(self, hostnames: Iterable[str], keep_users: Iterable[str] = ()) -> None:
        names = sorted({name for name in hostnames if len(name) > 2 and name != "localhost"}, key=len, reverse=True)
        self._host = re.compile(r"(?<![\w-])(?:%s)(?![\w-])" % "|".join(map(re.escape, names))) if names else None
        self._keep = set(keep_users)
        self._known: Dict[Tuple[str, str], str] = {}

    def text(self, path: str, text: str) -> str:
        """Return the text of a file without what tells whose it is."""
        if path.endswith("/etc/passwd") or path == "/etc/passwd":
            return self._accounts(text, people=True)
        if path == "/etc/group":
            return self._accounts(text, people=False)
        if path.endswith("/random/boot_id"):
            return "00000000-0000-4000-8000-000000000001\n"
        if path.endswith("/properties"):
            text = self._replace("unique", _UNIQUE, text, lambda n: "%d" % ((1 << 60) + n))
            return self._replace("hive", _HIVE, text, lambda n: "%d" % ((2 << 60) + n))
        if path.endswith("/xgmi_hive_id"):
            return self._replace("hive", _WHOLE_NUMBER, text, lambda n: "%d" % ((2 << 60) + n))
        if path == "/var/lib/dpkg/status":
            return package_fields(text)
        if path.startswith("/var/lib/dpkg/info/"):
            return "".join(line + "\n" for line in text.splitlines() if line.startswith(("/opt", "/lib/firmware")))
        if path.endswith("/METADATA"):
            return text.partition("\n\n")[0] + "\n\n"
        return self._common(path, text)

    def _common(self, path: str, text: str) -> str:
        text = self._replace("mac", _MAC, text, lambda n: "02:00:00:00:%02x:%02x" % (n >> 8 & 255, n & 255))
        text = _CREDENTIALS.sub(r"\1", text)
        if path.startswith(_WITH_ADDRESSES):
            text = self._replace("ip", _IPV4, text, lambda n: "192.0.2.%d" % (n % 255), keep=_is_local)
            text = self._replace("uuid", _UUID, text, lambda n: "00000000-0000-4000-8000-%012d" % n)
            text = _AUTH_WORDS.sub(r"\1REMOVED", text)
        return self._host.sub("node", text) if self._host else text

    def _replace(
        self, kind: str, pattern: Pattern[str], text: str, make: Make, keep: Optional[Callable[[str], bool]] = None
    ) -> str:
        def neutral(found: Match[str]) -> str:
            value = found.group(2)
            if keep is not None and keep(value):
                return found.group(0)
            number = sum(known[0] == kind for known in self._known) + 1
            return found.group(1) + self._known.setdefault((kind, value.lower()), make(number))

        return pattern.sub(neutral, text)

    def _accounts(self, text: str, people: bool) -> str:
        """Keep the system's accounts and those that the profile names; drop what people are called."""
        lines: List[str] = []
        for line in text.splitlines():
            fields = line.split(":")
            number = int(fields[2]) if len(fields) > 3 and fields[2].isdigit() else None
            if number is None:
                continue
            is_system = number < _FIRST_USER or number == _NOBODY
            if not is_system and fields[0] not in self._keep:
                continue
            if people:
                lines.append(":".join([fields[0], "x", fields[2], fields[3], "", "/", "/bin/sh"]))
            else:
                members = [name for name in fields[3].split(",") if name in self._keep]
                lines.append(":".join([fields[0], "x", fields[2], ",".join(members)]))
        return "".join(line + "\n" for line in lines)


def _is_local(address: str) -> bool:
    return address.startswith(("127.", "0.", "255.")) or address == "0.0.0.0"


def package_fields(text: str) -> str:
    """Return dpkg's status with the few fields that a snapshot reads."""
    kept = [
        line
        for line in text.splitlines()
        if not line or line.startswith(("Package:", "Status:", "Architecture:", "Version:"))
    ]
    return "\n".join(kept) + "\n"
