"""Tables on a terminal, made from the same documents that `--json` prints."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kernelwright.cli.offer import offered, over_strongest
from kernelwright.cli.verdict import document
from kernelwright.core.trial import Trial

STATUS_STYLE = {
    "won": "bold green", "level": "cyan", "at_floor": "green", "behind": "red", "unresolved": "yellow",
    "degenerate": "magenta", "accepted": "green", "rejected": "red", "pass": "green", "fail": "red",
    "skipped": "yellow",
}  # fmt: skip


class Output(Console):
    """A console that leaves a reader who went away (`| head`) to the root command."""

    def on_broken_pipe(self) -> None:
        """Raise what rich caught; by itself it would end the process with code 1."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output, as wide as the terminal, or 110 columns where there is none."""
    found = Output(highlight=False, markup=False)
    return found if found.is_terminal else Output(highlight=False, markup=False, width=110)


def print_report(report: dict[str, Any]) -> None:
    """What `optimize` found: baselines, best kernel, speed-ups."""
    out, best = console(), report["best"]
    out.print(
        _headed(
            report["problem"]["name"],
            f"{report['problem']['hash'][:12]}  on {report['target']}, run {report['run']}: "
            f"{report['trials']} trials in {_number(report.get('search_seconds'))} s of search, "
            f"{report['seconds']:.0f} s in all",
        )
    )
    for note in report.get("notes", ()):
        out.print(Text(note, style="yellow"))
    _print_times(out, report)
    if best is None:
        out.print("No verified kernel was found; the original stays.")
        return
    out.print(_best_table(best, report))


def _print_times(out: Console, report: dict[str, Any]) -> None:
    """Baselines beside the kernel, then the baselines that were not timed, with the reason."""
    out.print(_timing_table(report))
    for name, timing in report["baselines"].items():
        if timing.get("latency_us") is None:
            out.print(Text(f"{name}: {timing.get('reason') or 'not measured'}", style="dim"))
    if report["best"]:
        out.print(Text("ratios are of paired calls; times are medians of all calls", style="dim"))


def _timing_table(report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "time us", "95 % interval", "kernel is faster by", "95 % interval"):
        table.add_column(name, justify="left" if not name else "right")
    best = report["best"] or {}
    ratios, intervals = best.get("speedup", {}), best.get("speedup_ci", {})
    for name, timing in report["baselines"].items():
        if timing.get("latency_us") is None:
            continue
        table.add_row(
            name, f"{timing['latency_us']:,.1f}", _interval(timing.get("ci"), ",.1f"),
            _ratio(ratios.get(name)), _interval(intervals.get(name), ".3f"),
        )  # fmt: skip
    if best:
        table.add_row(
            Text("kernel", style="bold"),
            f"{best['latency_us']:,.1f}",
            _interval(best.get("ci"), ",.1f"),
            "",
            "",
        )
    return table


def _best_table(best: dict[str, Any], report: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("status", _status_line(best))
    table.add_row("over the strongest", over_strongest(best))
    labelled = ", ".join([best["column"], *best.get("labels", ())])
    table.add_row("precision", f"{best['precision']} ({labelled})")
    table.add_row("share of the floor", _percent(best.get("floor_share")))
    table.add_row("in custom kernels", _percent(best.get("custom_share")))
    table.add_row(
        "kernel", f"{best['kernel'][:12]}  {best['language']}, {best['trust']}, trial {best['trial']}"
    )
    table.add_row("look at it", f"kernelwright show {best['trial']} --source")
    label, said = offered(best)
    table.add_row(label, Text(said))
    return table


def print_diagnosis(report: dict[str, Any]) -> None:
    """Parts of a problem or of a whole model by share of time, with the floor and the most to be won."""
    out = console()
    out.print(_diagnosed(report))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("part", "kind", "time us", "share", "floor us", "of floor", "whole gains at most"):
        table.add_column(name, justify="left" if name in {"part", "kind"} else "right", overflow="fold")
    table.columns[1].min_width = max(map(len, _words(report["parts"])), default=0)  # breaks no shape
    for part in report["parts"]:
        table.add_row(
            part["name"], part.get("kind", ""), _number(part.get("time_us")), _percent(part.get("share")),
            _number(part.get("floor_us")), _percent(part.get("floor_share")), _ratio(part.get("gain")),
        )  # fmt: skip
    out.print(table)
    for line in report.get("summary", ()):
        out.print(line)


def _diagnosed(report: dict[str, Any]) -> Text:
    if "model" in report:
        return _headed(report["model"], f"part by part on {report['target']}")
    return _headed(report["problem"]["name"], f"{report['problem']['hash'][:12]}  on {report['target']}")


def _words(parts: list[dict[str, Any]]) -> list[str]:
    return [word for part in parts for word in part.get("kind", "").split()]


def print_verdict(found: dict[str, Any]) -> None:
    """Gates, the reason of a rejection, and what was not checked."""
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("gate", "result", "kind of failure", "found"):
        table.add_column(name, overflow="fold")
    for gate in found["gates"]:
        kind = gate["kind"] if gate["status"] == "fail" else ""
        table.add_row(gate["name"], _status(gate["status"]), kind, gate["message"])
    out.print(table)
    reason = found["reason"]
    by = f"by {reason['gate']} ({reason['kind']})" if reason else ""
    out.print(_status(found["verdict"]), Text(f"{_at(found)}{by}"))
    if found.get("speedup"):
        _print_times(out, {"best": found, "baselines": found["baselines"]})
        out.print(Text("status "), _status_line(found))
    for item in _grouped(found["not_checked"]):
        out.print(Text(f"not checked: {item}", style="yellow"))
    if found.get("trial"):
        out.print(Text(f"kept as {found['trial']}: kernelwright show {found['trial']}", style="dim"))


def _at(found: dict[str, Any]) -> str:
    """The level, where there is one: a verdict means no more than was looked at."""
    return f"at {found['level']} " if found.get("level") else ""


def print_audit(found: dict[str, Any]) -> None:
    """A row for each candidate, then the counts."""
    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("candidate", "verdict", "kind", "over the strongest", "95 % interval", "status or reason"):
        table.add_column(name, overflow="fold", justify="right" if name[0] in "o9" else "left")
    for row in found["rows"]:
        reason = row["reason"] or {}
        table.add_row(
            Text(row["name"]), _status(row["verdict"]), reason.get("kind", ""), _ratio(row.get("speedup")),
            _interval(row.get("speedup_ci"), ".3f"), Text(reason["message"]) if reason else _status_line(row),
        )  # fmt: skip
    out.print(table)
    kinds = ", ".join(f"{count} for {kind}" for kind, count in found["rejected"].items())
    rejected = f"{sum(found['rejected'].values())} rejected" + (f" ({kinds})" if kinds else "")
    unjudged = f"{found['unjudged']} could not be judged"
    accepted = f"{found['accepted']} accepted {_at(found)}".rstrip()
    out.print(f"{found['candidates']} candidates: {accepted}, {rejected}, {unjudged}")


def _grouped(items: list[str]) -> list[str]:
    """The same, with all gates that were not reached in one line."""
    missed = [item.removesuffix(": not reached") for item in items if item.endswith(": not reached")]
    kept = [item for item in items if not item.endswith(": not reached")]
    return [*kept, *([f"gates that were not reached: {', '.join(missed)}"] if missed else [])]


def _status_line(found: dict[str, Any]) -> Text:
    """A status, with its reason where it needs one."""
    reason = found.get("status_reason")
    return Text.assemble(_status(found.get("status") or ""), f": {reason}" if reason else "")


def print_trial(trial: Trial) -> None:
    """One trial: who proposed what, what the judge found, how fast."""
    out, evaluation, kernel = console(), trial.evaluation, trial.kernel
    out.print(_headed(trial.id, f"run {trial.run}  kernel {kernel.hash}  {kernel.language}, {kernel.trust}"))
    choices = ", ".join(f"{name}={value}" for name, value in trial.kernel.proposer.parameters.items())
    out.print(Text(f"proposed by {trial.kernel.proposer.name}: {choices or 'no parameters'}"))
    out.print(Text(f"serves: {_served(trial)}"))
    print_verdict(document(evaluation))
    if evaluation.build.log:
        out.print(Text(evaluation.build.log))


def _served(trial: Trial) -> str:
    """Shapes that the kernel takes, and its domain; a shape of numbers alone is that shape only."""
    plan = trial.kernel.plan
    inputs = [buffer for buffer in plan.buffers if buffer.role == "input"] if plan else []
    shapes = [f"{buffer.name}[{', '.join(map(str, buffer.shape))}]" for buffer in inputs]
    where = f" where {trial.kernel.domain}" if trial.kernel.domain else ""
    return (", ".join(shapes) or "what its own code takes") + where


def print_runs(found: dict[str, Any]) -> None:
    """A row per run."""
    out = console()
    if not found["runs"]:
        out.print("No such runs. Start with: kernelwright optimize examples/problems/softmax.py")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "problem", "target", "by", "state", "trials", "best us", "over strongest", "status"):
        table.add_column(name, overflow="fold")
    for run in found["runs"]:
        by = Text(" ".join(filter(None, (run["strategy"], (run["judged"] or {}).get("name")))))
        table.add_row(
            run["run"], Text(run["problem"]["name"]), run["target"], by, run["state"],
            str(run["trials"] or "-"), *_outcome(run),
        )  # fmt: skip
    out.print(table)


def _outcome(run: dict[str, Any]) -> tuple[str, str, Text]:
    """Time, speed-up and status of a run's best kernel, or of the one that it judged."""
    judged, best = run["judged"], run["best"] or {}
    if judged is None:
        ratio = best.get("speedup", {}).get("strongest")
        return _number(best.get("latency_us")), _ratio(ratio), _status(best.get("status", "-"))
    said = [judged["verdict"] or "not built", judged["status"]]
    status = Text(", ").join(_status(name) for name in said if name)
    return _number(judged["latency_us"]), _ratio(judged["speedup"]), status


def print_run(found: dict[str, Any]) -> None:
    """One run's table, and its trials from the fastest."""
    if found["report"]:
        print_report(found["report"])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("trial", "verdict", "level", "time us", "parameters or reason"):
        table.add_column(name, overflow="fold")
    best = (found["best"] or {}).get("trial")
    for row in sorted(
        found["rows"], key=lambda row: (row["trial"] != best, row["latency_us"] or float("inf"))
    ):
        table.add_row(
            row["trial"], _status(row["verdict"] or "not built"), row["level"] or "-",
            _number(row["latency_us"]), Text(_said(row)),
        )  # fmt: skip
    console().print(table)
    if found["report"]:
        console().print(
            Text("the kernel of the report comes first; times of different levels are of different hours")
        )


def _said(row: dict[str, Any]) -> str:
    """Why a trial was rejected, or its parameters by the last part of their names."""
    if row["reason"]:
        return str(row["reason"]["message"])
    return ", ".join(f"{name.rpartition('.')[2]}={value}" for name, value in row["parameters"].items())


def print_doctor(found: dict[str, Any]) -> None:
    """What the machine has, line by line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("kernelwright", f"{found['version']} on Python {found['python']}")
    for kind in ("targets", "languages", "tools"):
        for name, item in found[kind].items():
            text = item.get("device") or item.get("tool") or "available"
            if "load" in item:
                text += f", {item['cores']} cores, load {item['load']}"
            text = text if item["available"] else f"not available: {item['reason']}"
            table.add_row(f"{kind[:-1]} {name}", Text(text))
    for name, state in found["sandbox"].items():
        table.add_row(
            f"sandbox {name}", "in force" if state is True else Text(f"not in force: {state or 'unknown'}")
        )
    for name, installed in found["packages"].items():
        table.add_row(name, installed or "not installed")
    for name, item in (("store", found["store"]), ("cache", found["cache"])):
        table.add_row(
            name, Text(f"{item.get('url') or item['path']}, {item['free_bytes'] / 1e9:.1f} GB free")
        )
    console().print(table)


def _headed(head: str, rest: str) -> Text:
    """A line that begins with a name. Names and messages are others' text, so none is read as markup."""
    return Text.assemble((head, "bold"), "  ", rest)


def _status(name: str) -> Text:
    return Text(name, style=STATUS_STYLE.get(name, ""))


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _interval(ci: Any, form: str) -> str:
    return "" if not ci else f"{ci[0]:{form}} to {ci[1]:{form}}"
