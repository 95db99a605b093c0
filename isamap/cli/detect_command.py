"""`isamap detect`: which machines this processor is, and its measured peaks.

In: nothing, or hardware files. Out: a line per machine and instruction. Not its job: measuring.
"""

import click

from isamap.resources import bundled, find_hardware


@click.command()
@click.argument("specs", nargs=-1)
def detect_command(specs: tuple[str, ...]) -> None:
    """Say which machines (SPECS: files or bundled names) run here, and how fast."""
    from isamap.hwdesc import load_hardware  # start-up time
    from isamap.native import detect

    paths = [find_hardware(spec) for spec in specs] or list(bundled("hw_specs", ".yaml").values())
    for path in paths:
        found = detect(load_hardware(path))
        if found is None:
            continue
        click.echo(f"{found.hardware.name}: {found.reason or 'runs here'}")
        for peak in found.peaks:
            share = peak.measured_per_s / peak.described_per_s
            click.echo(
                f"  {peak.instruction}: {peak.measured_per_s / 1e9:.1f} G multiply-adds/s on one"
                f" core, {share:.0%} of what the description says"
            )
