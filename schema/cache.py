"""The user's cache: data that charz can make again, sealed, in a folder that only the user can read or write.

The name of a kept file ends in its seal, a keyed hash of the rest of its name and of its content. The key lies elsewhere
(`$XDG_STATE_HOME/charz/key`), so that a file which somebody else wrote into the cache, a cache that came from another machine and a
damaged file have no seal and are made anew. Charz reads a kept file as tables, JSON or the script of a page, and never runs it.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

MOST_BYTE = 100 * 10**6
"""Maximum size of the cache; the least recently used files are deleted first. [byte]"""

_KEY_BYTE = 32
_SEAL_LETTERS = 32
_LEFT_OVER_S = 3600.0
"""Age at which an unsealed file counts as abandoned by its writer. [s]"""

_said: list[str] = []


def folder() -> Path:
    """Return the folder of the cache."""
    return _home("XDG_CACHE_HOME", ".cache")


def said() -> list[str]:
    """Return the messages about unused kept files, without duplicates, and clear them."""
    found = list(dict.fromkeys(_said))
    _said.clear()
    return found


def find(name: str, ending: str) -> Path | None:
    """Find the kept file of a name whose seal, owner and mode are right; delete and report any other of that name."""
    place = folder()
    key = _key()
    if key is None or not _is_folder_sound(place):
        return None
    found = None
    for path in sorted(place.glob(f"{name}.*{ending}")):
        fault = _fault(path, key, name, ending)
        if fault:
            _refuse(path, fault)
        else:
            found = path
    if found is not None:
        with contextlib.suppress(OSError):
            os.utime(found)
    return found


def read(name: str, ending: str) -> bytes | None:
    """Read the kept file of a name; return None if no valid one exists."""
    path = find(name, ending)
    if path is None:
        return None
    try:
        return path.read_bytes()
    except OSError:
        return None


def write(name: str, ending: str, content: bytes) -> Path | None:
    """Keep a content under a name and replace the previous one; return None if the cache is not writable."""
    with making(name, ending) as part:
        if part is None:
            return None
        try:
            part.write_bytes(content)
        except OSError:
            return None
        return keep(part, name, ending)


@contextlib.contextmanager
def making(name: str, ending: str) -> Iterator[Path | None]:
    """Yield the path of a temporary file in the cache for `keep`, and delete it at the end; yield None if the cache is not
    writable."""
    place = folder()
    if _key() is None or not _is_made(place):
        yield None
        return
    try:
        descriptor, text = tempfile.mkstemp(prefix=f"{name}.", suffix=".part", dir=place)
    except OSError:
        yield None
        return
    os.close(descriptor)
    part = Path(text)
    try:
        yield part
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def keep(part: Path, name: str, ending: str) -> Path | None:
    """Keep a file from `making` under its sealed name; return None if that fails."""
    key = _key()
    if key is None:
        return None
    try:
        part.chmod(0o600)
        path = part.with_name(f"{name}.{_seal(part, key, name, ending)}{ending}")
        os.replace(part, path)
    except OSError:
        return None
    for other in path.parent.glob(f"{name}.*{ending}"):
        if other != path:
            _delete(other)
    _trim(path)
    return path


def contents() -> list[tuple[str, int]]:
    """List names and sizes of all files in the cache, the largest first. [byte]"""
    found = []
    for path in folder().glob("*"):
        with contextlib.suppress(OSError):
            found.append((path.name, path.lstat().st_size))
    return sorted(found, key=lambda row: (-row[1], row[0]))


def secret(purpose: str) -> str:
    """Return a text that only this user's charz knows, or an empty text if no key can be kept."""
    key = _key()
    return "" if key is None else hmac.digest(key, f"secret {purpose}".encode(), "sha256").hex()


def fault_of_folder() -> str:
    """Return why the cache is unusable, or an empty text if it is usable."""
    if _key() is None:
        return f"no key can be kept in {_home('XDG_STATE_HOME', '.local/state')}"
    place = folder()
    return "" if _is_made(place) else f"{place} cannot be written, or belongs to somebody else"


def _home(variable: str, otherwise: str) -> Path:
    given = Path(os.environ.get(variable, ""))
    if given.is_absolute():  # others are to be ignored (XDG Base Directory Specification): somebody else's folder could contain one
        return given / "charz"
    try:
        return Path.home() / otherwise / "charz"
    except RuntimeError:  # a user without a home
        return Path("/nonexistent") / "charz"


def _fault(path: Path, key: bytes, name: str, ending: str) -> str:
    """Return why a kept file is invalid, or an empty text if it is valid."""
    try:
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            return "it is no file"
        if state.st_uid != os.getuid():
            return f"it belongs to user {state.st_uid}"
        if stat.S_IMODE(state.st_mode) & 0o077:
            return "others may read or write it"
        seal = path.name.removeprefix(f"{name}.").removesuffix(ending)
        if not hmac.compare_digest(seal.encode(), _seal(path, key, name, ending).encode()):
            return "its content is not what charz wrote"
    except FileNotFoundError:  # another process has deleted it
        return ""
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _seal(path: Path, key: bytes, name: str, ending: str) -> str:
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").digest()
    return hmac.digest(key, f"{name}\0{ending}\0".encode() + content, "sha256").hex()[:_SEAL_LETTERS]


def _refuse(path: Path, why: str) -> None:
    _said.append(f"{path} is made anew: {why}")
    _delete(path)


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _is_made(place: Path) -> bool:
    """Create a folder for this user alone if it is missing; return True if it is private and writable."""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return _is_folder_sound(place) and os.access(place, os.W_OK | os.X_OK)


def _is_folder_sound(place: Path) -> bool:
    """Ensure that a folder of this user has mode 0700; return False if it is missing or belongs to somebody else."""
    try:
        state = place.stat()
        if not stat.S_ISDIR(state.st_mode):
            return False
        if state.st_uid != os.getuid():
            _said.append(f"{place} is not used: it belongs to user {state.st_uid}")
            return False
        if stat.S_IMODE(state.st_mode) != 0o700:
            place.chmod(0o700)
    except FileNotFoundError:
        return False
    except OSError as error:
        _said.append(f"{place} is not used: {error.strerror}")
        return False
    return True


def _key() -> bytes | None:
    """Return the key of this user's seals, created if missing; return None if it cannot be stored."""
    place = _home("XDG_STATE_HOME", ".local/state")
    path = place / "key"
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError):
            return _stored_key(path)
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, text = tempfile.mkstemp(prefix=".key.", dir=place)
            part = Path(text)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(os.urandom(_KEY_BYTE))
                with contextlib.suppress(FileExistsError):  # another process was faster
                    os.link(part, path)
            finally:
                part.unlink()
        except OSError:
            return None
    return None


def _stored_key(path: Path) -> bytes | None:
    """Return the key in a file. Raises `FileNotFoundError` if it is missing, or was deleted because others can read it or it is
    cut off."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        raise
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        key = file.read(_KEY_BYTE + 1)
    if state.st_uid != os.getuid():
        return None
    if stat.S_IMODE(state.st_mode) & 0o077 or len(key) != _KEY_BYTE:
        _said.append(f"{path} is made anew: others can read it, or it is cut off")
        path.unlink()
        raise FileNotFoundError(path)
    return key


def _trim(newest: Path) -> None:
    """Delete abandoned temporary files, and the least recently used files beyond `MOST_BYTE`."""
    states = []
    for path in newest.parent.glob("*"):
        with contextlib.suppress(OSError):
            states.append((path.lstat(), path))
    now = newest.stat().st_mtime if newest.exists() else 0.0
    total = 0
    for state, path in sorted(states, key=lambda pair: pair[0].st_mtime, reverse=True):
        if stat.S_ISDIR(state.st_mode):
            continue
        is_left = path.suffix in (".part", ".wal", ".lock", ".writing") and now - state.st_mtime > _LEFT_OVER_S
        total += state.st_size
        if path != newest and (is_left or total > MOST_BYTE):
            _delete(path)
            total -= state.st_size
