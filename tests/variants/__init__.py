"""Variants of the reference app that break one promise each, to show that its audit can fail.

Each is run in place of `reference_app` (`feedstorm drill ... --app-module tests.variants.<name>`).
"""
