"""File storage in a folder or an object store, which this process and the workers of an engine can access."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from charz.schema import disk
from charz.schema.errors import CharzError


class Store:
    """Key-value store of files. A key is the name of a file relative to a folder or bucket."""

    def __init__(self, place: str | Path) -> None:
        """Open the store at `place`, a folder or an address such as `s3://bucket/rows`."""
        self.place = str(place)
        self.is_folder = "://" not in self.place
        self._root = os.path.realpath(self.place) if self.is_folder else ""
        self._system: Any = None
        if self.is_folder and Path(self._root).exists() and not Path(self._root).is_dir():
            raise CharzError("a file, not a folder", self.place, next="name a folder")

    def address(self, name: str) -> str:
        """Return the address by which an engine reads a file."""
        return f"{self._root or self.place.rstrip('/')}/{name}"

    def _in_store(self) -> tuple[Any, str]:
        """Return the file system of an object store, and the path of the store in that file system."""
        if self._system is None:
            from pyarrow import fs

            with self._named():
                self._system = fs.FileSystem.from_uri(self.place)
        return self._system  # type: ignore[no-any-return]

    def put(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        with self._named():
            if not self.is_folder:
                system, root = self._in_store()
                if not system.type_name.startswith("s3"):
                    system.create_dir(f"{root}/{name}".rpartition("/")[0])
                with system.open_output_stream(f"{root}/{name}") as stream:
                    stream.write(data)
                return
            target = Path(self._root, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(prefix=_PART, dir=target.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                Path(part).chmod(0o666 & ~_mask())
                os.replace(part, target)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    Path(part).unlink()
                raise

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, or None if the file does not exist."""
        with self._named():
            try:
                if self.is_folder:
                    return Path(self._root, name).read_bytes()
                system, root = self._in_store()
                with system.open_input_file(f"{root}/{name}") as stream:
                    return bytes(stream.read())
            except FileNotFoundError:
                return None

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with self._named(), contextlib.suppress(FileNotFoundError):
            if self.is_folder:
                Path(self._root, name).unlink()
            else:
                system, root = self._in_store()
                system.delete_file(f"{root}/{name}")

    def names(self, under: str = "", least_s: float = 0.0) -> list[str]:
        """List all files below the folder `under` that are at least `least_s` seconds old."""
        latest = time.time() - least_s
        with self._named():
            if self.is_folder:
                top = Path(self._root, under)
                every = (p for p in top.rglob("*") if p.is_file()) if top.is_dir() else ()
                found = (path for path in every if not least_s or path.stat().st_mtime <= latest)
                return sorted(str(path.relative_to(self._root)) for path in found)
            from pyarrow import fs

            system, root = self._in_store()
            chosen = fs.FileSelector(f"{root}/{under}".rstrip("/"), allow_not_found=True, recursive=True)
            infos = system.get_file_info(chosen)
            return sorted(
                info.path[len(root) + 1 :]
                for info in infos
                if info.type == fs.FileType.File and (not least_s or (info.mtime_ns or 0) / 1e9 <= latest)
            )

    def prune(self, folder: str, least_s: float = 0.0) -> None:
        """Remove the files of a folder that are at least `least_s` seconds old, and remove empty folders."""
        for name in self.names(folder, least_s):
            self.remove(name)
        if self.is_folder:
            for place, _, __ in os.walk(Path(self._root, folder), topdown=False):
                with contextlib.suppress(OSError):
                    Path(place).rmdir()

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Report a full disk, a missing right or an unreachable store in one line."""
        import pyarrow

        try:
            yield
        except (FileNotFoundError, CharzError):
            raise
        except (OSError, pyarrow.ArrowException) as error:
            if disk.is_full(error):
                raise disk.full(Path(self.place), error) from error
            first = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            raise CharzError("cannot use the folder of rows", self.place, str(first)[:200]) from error


_PART = ".unfinished-"


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
