"""`isamap detect`: which machines this processor is, their measured peaks, which one fits best.

In: nothing, or hardware files. Out: a line per machine and instruction, and the best fit. Not its
job: measuring.
"""

import click

from isamap.resources import bundled, find_hardware


@click.command()
@click.argument("specs", nargs=-1)
def detect_command(specs: tuple[str, ...]) -> None:
    """Say which machines (SPECS: files or bundled names) run here, how fast, and which fits best.

    Without SPECS all bundled ones are measured, and '--hw native' means the best from then on.
    """
    from isamap.hwdesc import load_hardware  # start-up time
    from isamap.processor import detect, fit, remember

    paths = [find_hardware(spec) for spec in specs] or list(bundled("hw_specs", ".yaml").values())
    machines = []
    for path in paths:
        found = detect(load_hardware(path))
        if found is None:
            continue
        machines.append(found)
        click.echo(f"{found.hardware.name}: {found.reason or 'runs here'}")
        for peak in found.peaks:
            share = peak.measured_per_s / peak.described_per_s
            click.echo(
                f"  {peak.instruction}: {peak.measured_per_s / 1e9:.1f} G multiply-adds/s on one"
                f" core, {share:.0%} of what the description says"
            )
    best = fit(machines)
    if best:
        click.echo(f"fits best: {best[0].name}; described peaks against the best measured ones:")
        for one in best:
            kinds = ", ".join(f"{kind} {share:.0%}" for kind, share in one.shares)
            click.echo(f"  {one.name}: {one.share:.0%} on average ({kinds})")
    if best and not specs:
        remember(best[0].name)
        click.echo(f"--hw native: {best[0].name}")
