"""The guide as a web site: its pages, their titles, and how it is built."""

from __future__ import annotations

import html
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from guide import LANGUAGES, ROOT

SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
HOOKS = runpy.run_path(str(ROOT / "docs" / "hooks.py"))
#: File of every page by its title in the navigation.
PAGES = {title: file for section in SITE["nav"] for pages in section.values() for page in pages
         for title, file in page.items()}  # fmt: skip


def test_every_page_is_in_the_navigation():
    english = [path.name for path in (ROOT / "docs").glob("*.md") if path.suffixes == [".md"]]
    assert sorted(PAGES.values()) == sorted(english)


@pytest.mark.parametrize("title", [title for title in PAGES if title != "Home"])
def test_a_page_has_the_title_that_leads_to_it(title):
    assert (ROOT / "docs" / PAGES[title]).read_text().startswith(f"# {title}\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_navigation_is_translated(language):
    (plugin,) = (each["i18n"] for each in SITE["plugins"] if isinstance(each, dict) and "i18n" in each)
    (names,) = (each["nav_translations"] for each in plugin["languages"] if each["locale"] == language)
    assert set(names) == {*PAGES, *(title for section in SITE["nav"] for title in section)}


def test_short_code_stays_on_one_line():
    kept = HOOKS["on_page_content"]
    assert kept("<code>--lr 2e-5</code>").startswith('<code class="cell"><span class="cell">--lr</span> ')
    assert kept("<code>--epochs 60 --output a</code>").startswith(
        '<code class="line"><span class="cell">--epochs</span> '
    )
    assert kept("<code>--logging_first_step_of_several_epochs</code>").startswith(
        '<code><span class="cell">--logging_</span><wbr>first_<wbr>step_<wbr>'
    )
    block = '<pre><span></span><code>train <span class="m">1</span> --output-directory-of-all-runs</code></pre>'
    assert '</span> <span class="cell">--output-directory-of-all-runs</span></code>' in kept(block)


@pytest.mark.parametrize("page", ["speed.md", "commands.md"])
def test_what_is_copied_is_what_was_written(page):
    """However code is held together."""
    code = "".join(f"<code>{html.escape(each)}</code>" for each in
                   re.findall("`([^`\n]+)`", (ROOT / "docs" / page).read_text()))  # fmt: skip
    assert re.sub("<[^>]*>", "", HOOKS["on_page_content"](code)) == re.sub("<[^>]*>", "", code)


def test_links_can_be_read():
    css = (ROOT / "docs" / "guide.css").read_text()
    colours = re.findall(r"--md-(?:primary-fg|typeset-a|accent-fg)-color: #(\w{6});", css)
    assert len(colours) == 3
    assert all(1.05 / (_luminance(colour) + 0.05) > 4.5 for colour in colours), "too pale on white"


def _luminance(colour: str) -> float:
    """As WCAG has it."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("material")
    pytest.importorskip("mkdocs_static_i18n")
    folder = tmp_path_factory.mktemp("guide") / "site"
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_link_of_the_site_leads_to_a_file_beside_it(site):
    """So that it can lie in any folder of a server, or on a disk."""
    wrong = []
    for page in site.rglob("*.html"):
        for link in re.findall(r'\b(?:href|src)="([^"]+)"', page.read_text()):
            target = link.partition("#")[0]
            if (
                not re.match(r"https?:|mailto:|data:|javascript:", link)
                and target
                and not (page.parent / target).is_file()
            ):
                wrong.append(f"{page.relative_to(site)}: {link}")
    assert wrong == []


def test_every_page_leads_to_its_translations(site):
    for language in LANGUAGES:
        assert f'href="{language}/tutorial.html" hreflang="{language}"' in (site / "tutorial.html").read_text()
        assert 'href="../tutorial.html" hreflang="en"' in (site / language / "tutorial.html").read_text()
    assert not list(site.rglob("sitemap.xml*"))
