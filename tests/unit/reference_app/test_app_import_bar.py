import io

from rich.console import Console

from reference_app.importing import ImportBar, Importer
from reference_app.settings import Settings
from reference_app.stores.mongo.link import MongoLink


async def test_the_bar_says_how_much_is_loaded_and_then_counted() -> None:
    shown = io.StringIO()
    link = MongoLink(Settings())
    importer = Importer(link)
    async with ImportBar(1000, Console(file=shown, force_terminal=True, width=100)).follow(importer):
        importer.done = 250
    assert "loading" in shown.getvalue()
    assert "250 documents" in shown.getvalue()
    assert "counting" not in shown.getvalue()
    async with ImportBar(None, Console(file=shown, force_terminal=True, width=100)).follow(importer):
        importer.done, importer.counted, importer.to_count = 1000, 30, 60
    assert "counting followers" in shown.getvalue()
    assert "30 users" in shown.getvalue()
    await link.close()
