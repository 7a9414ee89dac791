// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension CookieCase {
    static let paths = [
        CookieCase(
            "The default path is the folder",
            "set https://a.wild.test/x/y/ n=v",
            "get https://a.wild.test/x/y/ n=v",
            "get https://a.wild.test/x/ "
        ),
        CookieCase(
            "The default path of a page",
            "set https://a.wild.test/x/page- n=v",
            "get https://a.wild.test/x/ n=v",
            "get https://a.wild.test/ "
        ),
        CookieCase("Path of the root", "set https://a.wild.test/x/ n=v; Path=/", "get https://a.wild.test/ n=v"),
        CookieCase(
            "Path with a slash at the end",
            "set https://a.wild.test/ n=v; Path=/x/",
            "get https://a.wild.test/x/ n=v",
            "get https://a.wild.test/xy/ "
        ),
        CookieCase(
            "Path matches whole segments",
            "set https://a.wild.test/ n=v; Path=/x",
            "get https://a.wild.test/x/y/ n=v",
            "get https://a.wild.test/xy/ "
        ),
        CookieCase(
            "Path of one page",
            "set https://a.wild.test/ n=v; Path=/x/show-cookies",
            "get https://a.wild.test/x/ n=v",
            "get https://a.wild.test/y/ "
        ),
        CookieCase(
            "Path keeps its case",
            "set https://a.wild.test/ n=v; Path=/X",
            "get https://a.wild.test/x/ ",
            "get https://a.wild.test/X/ n=v"
        ),
        CookieCase(
            "Path without a slash",
            "set https://a.wild.test/x/ n=v; Path=y",
            "get https://a.wild.test/x/ n=v",
            "get https://a.wild.test/y/ "
        ),
        CookieCase(
            "Empty Path",
            "set https://a.wild.test/x/ n=v; Path=",
            "get https://a.wild.test/x/ n=v",
            "get https://a.wild.test/ "
        ),
        CookieCase(
            "The last Path wins",
            "set https://a.wild.test/ n=v; Path=/y; Path=/x",
            "get https://a.wild.test/x/ n=v"
        ),
        CookieCase(
            "Path of another folder",
            "set https://a.wild.test/x/ n=v; Path=/y",
            "get https://a.wild.test/y/ n=v"
        ),
        CookieCase(
            "A path of 1024 bytes is taken",
            "set https://a.wild.test/ n=v; Path=/\(long(1023))",
            "get https://a.wild.test/ ",
            "get https://a.wild.test/\(long(1023))/ n=v"
        ),
        CookieCase(
            "A path of 1025 bytes is ignored",
            "set https://a.wild.test/ n=v; Path=/\(long(1024))",
            "get https://a.wild.test/ n=v"
        ),
        CookieCase(
            "Paths make two cookies",
            "set https://a.wild.test/ n=1; Path=/",
            "set https://a.wild.test/ n=2; Path=/x",
            "get https://a.wild.test/x/ n=2; n=1"
        ),
    ]

    static let secure = [
        CookieCase(
            "Secure is not sent in clear text",
            "set https://one.test/ n=v; Secure",
            "get https://one.test/ n=v",
            "get http://one.test/ "
        ),
        CookieCase("Secure from clear text is ignored", "set http://one.test/ n=v; Secure", "get https://one.test/ "),
        CookieCase("Secure with a value", "set https://one.test/ n=v; Secure=no", "get http://one.test/ "),
        CookieCase("Secure in any case", "set https://one.test/ n=v; sEcUrE", "get http://one.test/ "),
        CookieCase("Without Secure it is sent to both", "set https://one.test/ n=v", "get http://one.test/ n=v"),
        CookieCase(
            "Clear text does not replace a Secure cookie",
            "set https://one.test/ n=1; Secure",
            "set http://one.test/ n=2",
            "get https://one.test/ n=1"
        ),
        CookieCase(
            "Clear text does not cover it from the parent",
            "set https://a.wild.test/ n=1; Secure",
            "set http://a.wild.test/ n=2; Domain=wild.test",
            "get https://a.wild.test/ n=1"
        ),
        CookieCase(
            "Clear text does not cover it from a longer path",
            "set https://one.test/ n=1; Secure; Path=/x",
            "set http://one.test/ n=2; Path=/x/y",
            "get https://one.test/x/y/ n=1"
        ),
        CookieCase(
            "Clear text may use a shorter path",
            "set https://one.test/ n=1; Secure; Path=/x",
            "set http://one.test/ n=2; Path=/",
            "get https://one.test/x/ n=1; n=2"
        ),
        CookieCase(
            "https may replace a Secure cookie",
            "set https://one.test/ n=1; Secure",
            "set https://one.test/ n=2",
            "get http://one.test/ n=2"
        ),
        CookieCase("HttpOnly cookies are sent", "set https://one.test/ n=v; HttpOnly", "get http://one.test/ n=v"),
        CookieCase("Ports share cookies", "set http://one.test/ n=v", "get https://one.test/ n=v"),
    ]

    static let prefixes = [
        CookieCase(
            "__Secure- with Secure",
            "set https://one.test/ __Secure-n=v; Secure",
            "get https://one.test/ __Secure-n=v"
        ),
        CookieCase("__Secure- without Secure", "set https://one.test/ __Secure-n=v", "get https://one.test/ "),
        CookieCase("__secure- in lower case", "set https://one.test/ __secure-n=v", "get https://one.test/ "),
        CookieCase(
            "__Host- with all it needs",
            "set https://one.test/ __Host-n=v; Secure; Path=/",
            "get https://one.test/ __Host-n=v"
        ),
        CookieCase("__Host- without Path", "set https://one.test/ __Host-n=v; Secure", "get https://one.test/ "),
        CookieCase(
            "__Host- with another path",
            "set https://one.test/ __Host-n=v; Secure; Path=/x",
            "get https://one.test/x/ "
        ),
        CookieCase(
            "__Host- with Domain",
            "set https://a.wild.test/ __Host-n=v; Secure; Path=/; Domain=wild.test",
            "get https://a.wild.test/ "
        ),
        CookieCase("__Host- without Secure", "set https://one.test/ __Host-n=v; Path=/", "get https://one.test/ "),
        CookieCase("__hOsT- in another case", "set https://one.test/ __hOsT-n=v; Path=/", "get https://one.test/ "),
        CookieCase(
            "No name, a value with the prefix",
            "set https://one.test/ =__Host-n=v; Secure; Path=/",
            "get https://one.test/ "
        ),
        CookieCase(
            "No name, a value with the prefix in lower case",
            "set https://one.test/ __secure-n; Secure",
            "get https://one.test/ "
        ),
    ]

    static let lives = [
        CookieCase(
            "Max-Age ends",
            "set https://one.test/ n=v; Max-Age=10",
            "wait 9",
            "get https://one.test/ n=v",
            "wait 1",
            "get https://one.test/ "
        ),
        CookieCase(
            "Max-Age of 0 deletes",
            "set https://one.test/ n=v",
            "set https://one.test/ n=v; Max-Age=0",
            "get https://one.test/ "
        ),
        CookieCase(
            "A negative Max-Age deletes",
            "set https://one.test/ n=v",
            "set https://one.test/ n=v; Max-Age=-1",
            "get https://one.test/ "
        ),
        CookieCase(
            "Max-Age that is no number",
            "set https://one.test/ n=v; Max-Age=1x",
            "wait 9",
            "get https://one.test/ n=v"
        ),
        CookieCase(
            "Max-Age beyond all numbers",
            "set https://one.test/ n=v; Max-Age=\(String(repeating: "9", count: 30))",
            "wait 34559999",
            "get https://one.test/ n=v",
            "wait 1",
            "get https://one.test/ "
        ),
        CookieCase(
            "Expires in the past deletes",
            "set https://one.test/ n=v",
            "set https://one.test/ n=; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "get https://one.test/ "
        ),
        CookieCase(
            "Expires in the future",
            "set https://one.test/ n=v; Expires=Tue, 14 Nov 2023 22:13:30 GMT",
            "wait 9",
            "get https://one.test/ n=v",
            "wait 1",
            "get https://one.test/ "
        ),
        CookieCase(
            "Expires in the form of asctime",
            "set https://one.test/ n=v; Expires=Tue Nov 14 22:13:30 2023",
            "wait 10",
            "get https://one.test/ "
        ),
        CookieCase(
            "Expires that is no date",
            "set https://one.test/ n=v; Expires=never",
            "wait 99999999",
            "get https://one.test/ n=v"
        ),
        CookieCase(
            "Max-Age wins over Expires",
            "set https://one.test/ n=v; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "get https://one.test/ n=v"
        ),
        CookieCase(
            "The last Max-Age wins",
            "set https://one.test/ n=v; Max-Age=0; Max-Age=10",
            "get https://one.test/ n=v"
        ),
        CookieCase(
            "No life is longer than 400 days",
            "set https://one.test/ n=v; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
            "wait 34559999",
            "get https://one.test/ n=v",
            "wait 1",
            "get https://one.test/ "
        ),
        CookieCase(
            "A deletion needs the path",
            "set https://one.test/ n=v; Path=/x",
            "set https://one.test/ n=; Max-Age=0",
            "get https://one.test/x/ n=v"
        ),
        CookieCase(
            "A deletion needs the domain",
            "set https://a.wild.test/ n=v; Domain=wild.test",
            "set https://a.wild.test/ n=; Max-Age=0",
            "get https://a.wild.test/ n=v"
        ),
        CookieCase("A session cookie stays", "set https://one.test/ n=v", "wait 99999999", "get https://one.test/ n=v"),
    ]

    static let sites = [
        CookieCase(
            "SameSite=Strict is sent to a caller's URL",
            "set https://one.test/ n=v; SameSite=Strict",
            "get https://one.test/ n=v"
        ),
        CookieCase(
            "SameSite=Lax is sent to a caller's URL",
            "set https://one.test/ n=v; SameSite=Lax",
            "get https://one.test/ n=v"
        ),
        CookieCase("SameSite=None needs Secure", "set https://one.test/ n=v; SameSite=None", "get https://one.test/ "),
        CookieCase(
            "SameSite=None with Secure",
            "set https://one.test/ n=v; SameSite=None; Secure",
            "get https://one.test/ n=v"
        ),
        CookieCase("An unknown SameSite", "set https://one.test/ n=v; SameSite=Sometimes", "get https://one.test/ n=v"),
    ]

    static let order = [
        CookieCase(
            "Longer paths first",
            "set https://one.test/ a=1; Path=/",
            "set https://one.test/ b=2; Path=/x/y",
            "set https://one.test/ c=3; Path=/x",
            "get https://one.test/x/y/ b=2; c=3; a=1"
        ),
        CookieCase(
            "Earlier creation first",
            "set https://one.test/ b=1",
            "wait 1",
            "set https://one.test/ a=2",
            "get https://one.test/ b=1; a=2"
        ),
        CookieCase(
            "A new value keeps the first creation",
            "set https://one.test/ b=1",
            "wait 1",
            "set https://one.test/ a=2",
            "wait 1",
            "set https://one.test/ b=3",
            "get https://one.test/ b=3; a=2"
        ),
        CookieCase(
            "A deleted cookie begins again",
            "set https://one.test/ b=1",
            "set https://one.test/ a=2",
            "set https://one.test/ b=; Max-Age=0",
            "set https://one.test/ b=3",
            "get https://one.test/ a=2; b=3"
        ),
        CookieCase(
            "Domains do not change the order",
            "set https://a.wild.test/ n=1; Domain=wild.test",
            "set https://a.wild.test/ m=2",
            "get https://a.wild.test/ n=1; m=2"
        ),
    ]
}
