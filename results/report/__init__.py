"""Reports of a run: `report.html` for people, `report.md` for a pull request, `junit.xml` for CI."""

from results.report.write import Paths, write

__all__ = ["Paths", "write"]
