"""The command as a whole: help, version, start-up, and what becomes of failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perp

COMMAND = [sys.executable, "-W", "error", "-m", "perp.cli"]


def run_process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)


def test_version(run) -> None:
    outcome = run("--version")
    assert outcome.code == 0
    assert outcome.out == f"perp {perp.__version__}\n"


def test_help_lists_the_commands_and_the_exit_codes(run) -> None:
    for words in ([], ["--help"]):
        outcome = run(*words)
        assert outcome.code == 0
        for word in ("solve", "solvers", "residual", "convert", "0 solved, 1 not solved, 2 bad input"):
            assert word in outcome.out
        assert "Solve the problem in a file." in outcome.out  # not only names


@pytest.mark.parametrize("command", ["solve", "solvers", "residual", "convert", "compare"])
def test_every_command_has_help(run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert f"perp {command}" in outcome.out


def test_unknown_command_is_refused(run) -> None:
    run("slove").assert_refused("slove", "solve")


def test_version_and_help_load_nothing_heavy() -> None:
    script = (
        "import sys; from perp.cli import main; main(['--version']); main(['solve', '--help'])\n"
        "heavy = {'numba', 'scipy', 'h5py', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_exit_codes_of_the_process(lcp: Path, unsolvable: Path) -> None:
    assert run_process("solve", str(lcp)).returncode == 0
    assert run_process("solve", str(unsolvable)).returncode == 1
    refused = run_process("solve", "missing.npz")
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr


def test_a_reader_that_goes_away_is_no_crash(lcp: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = subprocess.run(
        [*COMMAND, "solvers"], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert process.returncode == 141
    assert process.stderr == ""


def raising(error: BaseException):
    def solve(*args, **kwargs):
        raise error

    return solve


def test_ctrl_c_ends_with_130(run, lcp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perp, "solve", raising(KeyboardInterrupt()))
    outcome = run("solve", lcp)
    assert outcome.code == 130
    assert outcome.err == "perp: interrupted\n"


def test_a_bug_is_one_line_and_not_exit_code_1(run, lcp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perp, "solve", raising(ZeroDivisionError("by design")))
    monkeypatch.delenv("PERP_DEBUG", raising=False)
    outcome = run("solve", lcp)
    assert outcome.code == 70
    assert outcome.err.startswith("perp: a bug in perp: ZeroDivisionError: by design")
    assert outcome.err.count("\n") == 1
    monkeypatch.setenv("PERP_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("solve", lcp)


def test_running_out_of_memory_is_one_line(run, lcp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(perp, "solve", raising(MemoryError()))
    run("solve", lcp).assert_refused("memory")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(run, shell: str, tmp_path: Path) -> None:
    script = run("completion", shell)
    assert script.code == 0
    for word in ("simulate", "solvers", "--formulation" if shell != "fish" else "formulation"):
        assert word in script.out
    if shell == "bash":
        file = tmp_path / "perp.bash"
        file.write_text(script.out, encoding="utf-8")
        assert subprocess.run(["bash", "-n", file], capture_output=True, check=False).returncode == 0
    run("completion", "tcsh").assert_refused("tcsh")


COMPLETED = {
    "solve x.npz --solver lem": ["lemke", "lemke-howson"],
    "solve x.npz --formulation stew": ["stewart-trinkle"],
    "compare stack --solver clar": ["clarabel"],
    "simulate scene.xml --keyframe ''": ["home", "two words"],
    "simulate scene.xml --control ''": ["push="],
    "simulate scene.xml --motors force --control ''": ["push=", "swing="],
    "simulate scene.xml --pose ''": ["swing="],
    "simulate nothing.xml --keyframe ''": [],
}


def test_bash_completes_the_values_of_options(run, tmp_path: Path) -> None:
    """The script in a shell of its own, which calls the command as a key press does."""
    (tmp_path / "scene.xml").write_text(
        """<mujoco><worldbody><body><joint name="swing"/><geom size="0.1"/></body></worldbody>
        <actuator><motor name="push" joint="swing"/></actuator>
        <keyframe><key name="home" qpos="0"/><key name="two words" qpos="1"/></keyframe></mujoco>""",
        encoding="utf-8",
    )
    (tmp_path / "perp.bash").write_text(run("completion", "bash").out, encoding="utf-8")
    lines = [f"perp() {{ '{sys.executable}' -m perp.cli \"$@\"; }}", "source perp.bash"]
    for words in COMPLETED:
        lines += [
            f"COMP_WORDS=(perp {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); _perp",
            'echo "${COMPREPLY[@]/%/;}"',
        ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    offered = [
        [word.strip().replace("\\ ", " ") for word in line.split(";") if word.strip()]
        for line in done.stdout.split("\n")[: len(COMPLETED)]
    ]
    assert dict(zip(COMPLETED, offered, strict=True)) == COMPLETED


def test_the_list_of_solvers_fits_80_columns(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("solvers").out.splitlines()
    assert max(len(line) for line in lines) <= 80
    for info in perp.solvers():
        [line] = [line for line in lines if line.startswith(f"  {info.name} ")]
        assert len(line.split()) > 3  # what it takes and what it is begin on the same line
