"""Tests the web console in a real headless browser: each view, by clicks and by keys, dark and light.

usage: console_browser.py ADDRESS_WITH_TOKEN MYSQL_PORT [DIRECTORY_FOR_SCREENSHOTS]

Needs PyMySQL, Playwright, and a browser: chromium or chrome of the system.
"""

import shutil
import sys
import time
from urllib.parse import urlsplit

import pymysql
from playwright.sync_api import sync_playwright

FILL = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), city VARCHAR(40), KEY city (city));
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, placed DATE, amount DECIMAL(10, 2), note VARCHAR(200));
INSERT INTO customers WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, CONCAT('name ', i), CONCAT('city ', i % 50) FROM n;
SET cte_max_recursion_depth = 100000;
INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
  SELECT i, 1 + i % 900, DATE '2026-01-01' + INTERVAL (i % 365) DAY, i % 1000, REPEAT('x', 120) FROM n;
"""

QUERIES = [
    ("SELECT SUM(amount) FROM orders WHERE customer = %s", 40),
    ("SELECT c.name, SUM(o.amount) FROM customers c JOIN orders o ON o.customer = c.id WHERE c.city = %s GROUP BY c.name ORDER BY 2 DESC LIMIT 5", 6),
    ("SELECT note FROM orders WHERE id = %s", 300),
    ("SELECT '<img src=x onerror=alert(1)>', COUNT(*) FROM customers WHERE id < %s", 3),
]


def fill(port):
    connection = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True)
    with connection.cursor() as cursor:
        for statement in FILL.split(";\n"):
            if statement.strip():
                cursor.execute(statement)
        # The statements that fill the tables must not be part of the workload for which the advisor is asked.
        cursor.execute("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
        for sql, times in QUERIES:
            for number in range(1, times + 1):
                cursor.execute(sql, (f"city {number}" if "city" in sql else number,))
                cursor.fetchall()
    return connection


def until(holds):
    """Waits until a condition holds. The page's policy forbids to evaluate a condition in the page."""
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it does not hold after 30 seconds")


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    pictures = sys.argv[3] if len(sys.argv) > 3 else None
    connection = fill(port)
    browser_path = next((found for name in ("chromium", "google-chrome", "chrome") if (found := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme, viewport={"width": 1366, "height": 768})
            page = context.new_page()
            faults = []
            page.on("pageerror", lambda error: faults.append(str(error)))
            page.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
            page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
            outside = []
            page.on("request", lambda request: outside.append(request.url) if urlsplit(request.url).netloc != urlsplit(address).netloc else None)

            def picture(name):
                if pictures:
                    page.screenshot(path=f"{pictures}/{name}-{scheme}.png", full_page=True)

            # Without the token the page is empty; with it, the address bar drops the token.
            plain = f"{urlsplit(address).scheme}://{urlsplit(address).netloc}/"
            assert context.request.get(plain).status == 403
            assert context.request.get(plain + "api/status").status == 403
            assert context.request.get(address, headers={"Host": "evil.example"}).status == 421
            page.goto(address)
            assert page.url == plain, page.url
            cookie = context.cookies()[0]
            assert cookie["httpOnly"] and cookie["sameSite"] == "Strict", cookie

            # Statements: sorted and filtered by keys; no text of them becomes markup.
            page.wait_for_selector(".statements >> text=SELECT SUM ( amount )")
            time.sleep(11 if scheme == "light" else 0)
            page.wait_for_selector("svg.chart")
            assert page.locator("img[src=x]").count() == 0
            picture("statements")
            page.locator("th button", has_text="runs").click()
            first = page.locator("tbody tr").first.inner_text()
            assert "note" in first, first
            page.keyboard.press("/")
            page.keyboard.type("customer sum")
            until(lambda: page.locator("tbody tr").count() == 2)
            assert "note FROM" not in page.locator("tbody").inner_text()

            # A plan, opened by keys: with the rejected alternatives, then executed.
            link = page.locator("tbody a", has_text="c . name")
            link.focus()
            page.keyboard.press("Enter")
            page.wait_for_selector("svg.plan .step")
            assert "expected" in page.locator("svg.plan").first.inner_html()
            page.locator("button", has_text="Run it").click()
            page.wait_for_selector("svg.plan >> text=came")
            rejected = []
            for step in page.locator(".step.access").all():
                step.focus()
                page.keyboard.press("Enter")
                page.wait_for_selector("dt >> text=entries")
                if page.locator("text=Not taken").count() > 0:
                    rejected = page.locator("main table tbody tr").all_inner_texts()
                    break
            assert any("scan" in way for way in rejected), rejected
            picture("plan")

            # Live: the figures update by themselves.
            page.locator("nav a", has_text="Live").click()
            page.wait_for_selector(".grid .panel")
            with connection.cursor() as cursor:
                for number in range(200):
                    cursor.execute("SELECT note FROM shop.orders WHERE id = %s", (number,))
            page.wait_for_selector(".grid svg.chart", timeout=15000)
            time.sleep(4)
            picture("live")

            # Indexes, and the places of an index's pages.
            page.locator("nav a", has_text="Indexes").click()
            page.wait_for_selector("text=shop.orders")
            picture("indexes")
            page.locator("tr", has_text="shop.orders").locator("a").first.click()
            page.wait_for_selector("canvas")
            drawn = page.evaluate(
                "() => { const c = document.querySelectorAll('main canvas')[1];"
                " return new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size; }")
            assert drawn > 3, drawn
            box = page.locator("main canvas").nth(1).bounding_box()
            page.mouse.move(box["x"] + 8, box["y"] + 8)
            page.wait_for_selector("text=/Leaf \\d+: page \\d+/")
            picture("map")

            # Advice, and a statement with a hypothetical index.
            page.locator("nav a", has_text="Advice").click()
            page.locator("button", has_text="Ask for advice").click()
            page.wait_for_selector("text=CREATE INDEX", timeout=60000)
            page.locator("button", has_text="EXPLAIN with it").first.click()
            page.wait_for_selector("text=with the index", timeout=60000)
            picture("advice")
            page.locator("section a").first.click()
            page.wait_for_selector("text=with the index, which")
            assert "hypothetical" in page.locator("svg.plan").first.inner_html()
            picture("supposed")

            assert not outside, outside
            assert not faults, faults
            context.close()
        browser.close()
    with connection.cursor() as cursor:
        # The console has built no index and changed nothing.
        cursor.execute("SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_NAME = 'orders'")
        assert cursor.fetchone()[0] == 1
    connection.close()
    print("the console in a browser: ok")


main()
