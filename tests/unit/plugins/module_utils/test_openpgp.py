# SPDX-License-Identifier: Apache-2.0
"""The keys were made for these tests by GnuPG 2.2; what it shows of them is what is expected here."""

from __future__ import annotations

import base64

import pytest

from ansible_collections.instinct.bringup.plugins.module_utils.openpgp import Key, NotOpenPgp, dearmour, read_keys

ONE = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAwV0gp2VYWpEi5+p3gpYhEj6lvTWmd37j1Yq5
wB9Yj5q0LU1hZGUgS2V5IE9uZSAobm90IHJlYWwpIDxvbmVAZXhhbXBsZS5pbnZh
bGlkPoiQBBMWCAA4FiEEU9VxrRpKZ7G9eoJLvAmv7WgZihQFAmWSAIACGwMFCwkI
BwIGFQoJCAsCBBYCAwECHgECF4AACgkQvAmv7WgZihSdGAEAvCcSUquKrO4B+9Q3
nHx8bl4gkFjxKiGQIv1J50VuZJ8BALGSshphspyqroFCO3m6D44f9hzCwK6fZ89y
YXGN0TEO
=Cspd
-----END PGP PUBLIC KEY BLOCK-----
"""
TWO = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAzxtCWvYgvg/AyR7rTJllr2LO8PjstPIGh6KJ
/sMFjYi0LU1hZGUgS2V5IFR3byAobm90IHJlYWwpIDx0d29AZXhhbXBsZS5pbnZh
bGlkPoiWBBMWCAA+FiEEOHQhz5QmegPXRdIjxmgejrJDSrYFAmWSAIACGwMFCQHh
M4AFCwkIBwIGFQoJCAsCBBYCAwECHgECF4AACgkQxmgejrJDSrb9UQD9EyzPcUUO
cWL/MuSfc5SNtU1RZQ8wV89kHEXbqlyb2yIA/iSco00ZsL3aWzaBif9NwR8Q2IOk
hAOKnSzzCOOPhI8A
=JWe+
-----END PGP PUBLIC KEY BLOCK-----
"""
# TWO again, after its end was put off and a second name was added; the first signature is still there.
RENEWED = """\
-----BEGIN PGP PUBLIC KEY BLOCK-----

mDMEZZIAgBYJKwYBBAHaRw8BAQdAzxtCWvYgvg/AyR7rTJllr2LO8PjstPIGh6KJ
/sMFjYi0LU1hZGUgS2V5IFR3byAobm90IHJlYWwpIDx0d29AZXhhbXBsZS5pbnZh
bGlkPoiWBBMWCAA+AhsDBQsJCAcCBhUKCQgLAgQWAgMBAh4BAheAFiEEOHQhz5Qm
egPXRdIjxmgejrJDSrYFAmaB8YAFCQtKgMAACgkQxmgejrJDSrbaZQD/e3HZHEkY
+xPI3I+FKPVTiv4qsR8VlH1nB+cO1vY5PYkA/1g+SuI7LDUlqV5kweQTR0AD/6Mo
n6qHtQsRSFUNbF8DiJYEExYIAD4WIQQ4dCHPlCZ6A9dF0iPGaB6OskNKtgUCZZIA
gAIbAwUJAeEzgAULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRDGaB6OskNKtv1R
AP0TLM9xRQ5xYv8y5J9zlI21TVFlDzBXz2QcRduqXJvbIgD+JJyjTRmwvdpbNoGJ
/03BHxDYg6SEA4qdLPMI44+EjwC0I1NlY29uZCBOYW1lIDx0d28tYkBleGFtcGxl
LmludmFsaWQ+iJYEExYIAD4WIQQ4dCHPlCZ6A9dF0iPGaB6OskNKtgUCZqrQAAIb
AwUJC0qAwAULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRDGaB6OskNKts8NAP9W
9V3z4qV6+gwStelHlSaLIFeuRpw6l/JuSqYgmFOg0wEAxbOe3SSslkxDfe/Re9qK
xEEBj3hB3Armvp7disz1JQ0=
=Q082
-----END PGP PUBLIC KEY BLOCK-----
"""
KEY_ONE = Key("53D571AD1A4A67B1BD7A824BBC09AFED68198A14", 1704067200, None)
KEY_TWO = Key("387421CF94267A03D745D223C6681E8EB2434AB6", 1704067200, 1735603200)
KEY_RENEWED = KEY_TWO._replace(expires=1893499200)


def binary(text: str) -> bytes:
    return dearmour(text.encode())


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        pytest.param(ONE.encode(), [KEY_ONE], id="without an end"),
        pytest.param(TWO.encode(), [KEY_TWO], id="with an end"),
        pytest.param(RENEWED.encode(), [KEY_RENEWED], id="end put off: the newest self-signature counts"),
        pytest.param(binary(RENEWED), [KEY_RENEWED], id="binary"),
        pytest.param(binary(ONE) + binary(TWO), [KEY_ONE, KEY_TWO], id="two in a keyring"),
        pytest.param((ONE + TWO).encode(), [KEY_ONE, KEY_TWO], id="two armoured blocks"),
        pytest.param(ONE.replace("\n", "\r\n").encode(), [KEY_ONE], id="DOS line ends"),
        pytest.param(("a note\n\n" + ONE).encode(), [KEY_ONE], id="text before the block"),
        pytest.param(
            ONE.replace("BLOCK-----\n\n", "BLOCK-----\nVersion: X\n\n", 1).encode(), [KEY_ONE], id="header line"
        ),
        pytest.param(
            "".join(line for line in ONE.splitlines(True) if line[0] != "=").encode(), [KEY_ONE], id="no checksum"
        ),
    ],
)
def test_keys(data: bytes, keys: list[Key]) -> None:
    assert read_keys(data) == keys


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"<!DOCTYPE html><html>", "starts with '<!DOCTYPE html><html>'", id="a web page"),
        pytest.param(b"", "it is empty", id="empty"),
        pytest.param(b"\x00\x00\x00 \x01KBXf", "starts with", id="a keybox"),
        pytest.param(binary(ONE)[:-20], "cut short at byte", id="cut"),
        pytest.param(ONE.replace("mDME", "mDMF").encode(), "checksum does not fit", id="a changed letter"),
        pytest.param(ONE.replace("mDME", "mD!E").encode(), "the armour is broken", id="broken armour"),
        pytest.param(ONE[: len(ONE) // 2].encode(), "has a beginning and no end", id="cut armour"),
        pytest.param(b"\xff\xfe\x00", "not OpenPGP", id="not a packet"),
        pytest.param(b"\x99\x00", "not OpenPGP", id="half a header"),
        pytest.param(b"\xb4\x01a", "not OpenPGP", id="a user id alone"),
        pytest.param(b"\x95\x00\x01\x04", "secret key", id="a secret key"),
    ],
)
def test_what_is_no_public_key_shows_how_it_starts(data: bytes, message: str) -> None:
    with pytest.raises(NotOpenPgp, match=message):
        read_keys(data)


def test_no_cut_gives_another_error() -> None:
    whole = binary(RENEWED)
    for length in range(len(whole)):
        try:
            keys = read_keys(whole[:length])
        except NotOpenPgp:
            continue
        # At the border between two packets what is left is a whole, smaller keyring.
        assert [key.fingerprint for key in keys] == [KEY_TWO.fingerprint]


def test_a_signature_of_another_key_does_not_put_the_end_off() -> None:
    # The packets of RENEWED behind the key of ONE: none of the signatures is its own.
    foreign = binary(RENEWED)[53:]
    assert read_keys(binary(ONE)[:53] + foreign) == [KEY_ONE]


@pytest.mark.parametrize(("now", "over"), [(1735603199, False), (1735603200, True)])
def test_the_end_is_the_first_moment_when_the_key_is_over(now: int, over: bool) -> None:
    assert KEY_TWO.is_expired(now) is over
    assert not KEY_ONE.is_expired(now)


def test_dearmour_leaves_binary_as_it_is() -> None:
    data = base64.b64decode("mDME")
    assert dearmour(data) == data
