"""What a node gets of the machine's /etc where no overlay is possible, and that all of a run goes away."""

from __future__ import annotations

from pathlib import Path

from glassstack.drills.files import copy_public, remove_tree


def test_only_what_anybody_may_read(tmp_path: Path) -> None:
    source, target = tmp_path / "etc", tmp_path / "node"
    (source / "ssl/private").mkdir(parents=True)
    target.mkdir()
    (source / "passwd").write_text("root")
    (source / "shadow").write_text("secret")
    (source / "shadow").chmod(0o640)
    (source / "ssl/private/key").write_text("secret")
    (source / "ssl/private").chmod(0o700)
    (source / "mtab").symlink_to("/proc/mounts")
    (source / "ld.so.conf").write_text("the machine's")
    (target / "ld.so.conf").write_text("the node's")
    copy_public(source, target)
    copy_public(source, target)
    found = {str(path.relative_to(target)) for path in target.rglob("*")}
    assert found == {"passwd", "ssl", "mtab", "ld.so.conf"}
    assert (target / "ld.so.conf").read_text() == "the node's"
    assert (target / "mtab").readlink() == Path("/proc/mounts")


def test_a_folder_that_an_overlay_shut(tmp_path: Path) -> None:
    shut = tmp_path / "run/work/work"
    shut.mkdir(parents=True)
    (shut / "index").write_text("")
    shut.chmod(0)
    remove_tree(tmp_path / "run")
    assert not (tmp_path / "run").exists()
