// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

/// A case of the table: steps with one client, against nginx.
struct CookieCase: Sendable, CustomTestStringConvertible {
    /// `set URL FIELD` gets a response with this field from below the URL. `get URL COOKIES` expects this `Cookie` field in
    /// a request below the URL. `wait SECONDS` moves the clock. The test adds the server's port to each URL.
    let steps: [String]
    let testDescription: String

    /// The cases of a text: a line for each, its description and its steps between bars.
    private static func table(_ text: String) -> [CookieCase] {
        text.split(separator: "\n").map { line in
            let parts = line.split(separator: " | ").map(String.init)
            return CookieCase(steps: Array(parts.dropFirst()), testDescription: parts[0])
        }
    }
}

extension CookieCase {
    /// All cases.
    static let all = names + values + domains + paths + secure + prefixes + lives + sites + order

    // Fields with spaces at an end are only possible over HTTP/1.1 (RFC 9113 section 8.2.1), here in clear text.
    static let names = table(
        """
        A name and a value | set https://a.wild.test/ n=v | get https://a.wild.test/ n=v
        An empty value | set https://a.wild.test/ n= | get https://a.wild.test/ n=
        An empty name | set https://a.wild.test/ =v | get https://a.wild.test/ v
        No equal sign | set https://a.wild.test/ word | get https://a.wild.test/ word
        Nothing at all | set http://a.wild.test/ | get http://a.wild.test/
        An equal sign alone | set https://a.wild.test/ = | get https://a.wild.test/
        A semicolon alone | set https://a.wild.test/ ; | get https://a.wild.test/
        Attributes alone | set https://a.wild.test/ ; Path=/ | get https://a.wild.test/
        Spaces around the name | set http://a.wild.test/   n  =v | get http://a.wild.test/ n=v
        Spaces around the value | set http://a.wild.test/ n=  v  ; Path=/ | get http://a.wild.test/ n=v
        Tabs around both | set http://a.wild.test/ \tn\t=\tv\t | get http://a.wild.test/ n=v
        A space inside a name | set https://a.wild.test/ a b=v | get https://a.wild.test/ a b=v
        Names differ in case | set https://a.wild.test/ n=1 | set https://a.wild.test/ N=2 \
        | get https://a.wild.test/ n=1; N=2
        A token of special characters | set https://a.wild.test/ !#$%&'*+-.^_`|~=v \
        | get https://a.wild.test/ !#$%&'*+-.^_`|~=v
        A name that is an attribute's | set https://a.wild.test/ path=v; Path=/ | get https://a.wild.test/ path=v
        """
    )

    static let values = table(
        """
        Equal signs in the value | set https://a.wild.test/ n=a=b== | get https://a.wild.test/ n=a=b==
        Quotes stay | set https://a.wild.test/ n="a b" | get https://a.wild.test/ n="a b"
        A quoted semicolon ends | set https://a.wild.test/ n="a;b" | get https://a.wild.test/ n="a
        Commas stay | set https://a.wild.test/ n=a,b | get https://a.wild.test/ n=a,b
        Percent signs stay | set https://a.wild.test/ n=%41% | get https://a.wild.test/ n=%41%
        Letters outside ASCII | set https://a.wild.test/ n=ä€ | get https://a.wild.test/ n=ä€
        A backslash | set https://a.wild.test/ n=a\\;b | get https://a.wild.test/ n=a\\
        A JSON text | set https://a.wild.test/ n={"a":[1,2]} | get https://a.wild.test/ n={"a":[1,2]}
        4096 bytes | set https://a.wild.test/ n=\(long(4095)) | get https://a.wild.test/ n=\(long(4095))
        4097 bytes | set https://a.wild.test/ n=\(long(4096)) | get https://a.wild.test/
        A newer value replaces | set https://a.wild.test/ n=1 | set https://a.wild.test/ n=2 \
        | get https://a.wild.test/ n=2
        Unknown attributes | set https://a.wild.test/ n=v; Color=red; ;; Priority=High; Partitioned \
        | get https://a.wild.test/ n=v
        """
    )

    static let domains = table(
        """
        Host-only without Domain | set https://a.wild.test/ n=v | get https://b.wild.test/
        Two names on one address | set https://one.test/ n=1 | set https://two.test/ n=2 | get https://one.test/ n=1 \
        | get https://two.test/ n=2
        Not for a name below the host | set http://wild.test/ n=v | get http://a.wild.test/
        Domain of the parent | set https://a.wild.test/ n=v; Domain=wild.test | get https://b.wild.test/ n=v
        Domain of the parent, for the parent | set https://a.wild.test/ n=v; Domain=wild.test \
        | get http://wild.test/ n=v
        Domain with a leading dot | set https://a.wild.test/ n=v; Domain=.wild.test | get https://b.wild.test/ n=v
        Domain with two leading dots | set https://a.wild.test/ n=v; Domain=..wild.test | get https://a.wild.test/
        Domain with a trailing dot | set https://a.wild.test/ n=v; Domain=wild.test. | get https://a.wild.test/
        Domain in capitals | set https://a.wild.test/ n=v; DOMAIN=Wild.TEST | get https://b.wild.test/ n=v
        Domain of the host itself | set http://x.a.wild.test/ n=v; Domain=x.a.wild.test \
        | get http://y.x.a.wild.test/ n=v
        Domain of another host | set https://a.wild.test/ n=v; Domain=b.wild.test | get https://b.wild.test/
        Domain of a child | set http://wild.test/ n=v; Domain=a.wild.test | get http://a.wild.test/
        Domain that only ends alike | set http://evilwild.test/ n=v; Domain=wild.test | get http://wild.test/ \
        | get http://evilwild.test/
        Domain of another site | set https://one.test/ n=v; Domain=two.test | get https://two.test/ \
        | get https://one.test/
        Empty Domain | set https://a.wild.test/ n=v; Domain= | get https://a.wild.test/ n=v | get https://b.wild.test/
        The last Domain wins | set https://a.wild.test/ n=v; Domain=b.wild.test; Domain=wild.test \
        | get https://b.wild.test/ n=v
        Domain of a top-level name | set https://a.wild.test/ n=v; Domain=test | get https://a.wild.test/
        Domain of a public suffix | set http://a.co.uk/ n=v; Domain=co.uk | get http://a.co.uk/ | get http://b.co.uk/
        Domain of a private suffix | set http://a.github.io/ n=v; Domain=github.io | get http://b.github.io/
        Domain below a public suffix | set http://www.a.co.uk/ n=v; Domain=a.co.uk | get http://a.co.uk/ n=v
        A public suffix for itself | set http://github.io/ n=v; Domain=github.io | get http://github.io/ n=v \
        | get http://a.github.io/
        An address | set http://127.0.0.2/ n=v | get http://127.0.0.2/ n=v | get http://127.0.0.3/
        An address as Domain | set http://127.0.0.2/ n=v; Domain=127.0.0.2 | get http://127.0.0.2/ n=v
        A part of an address as Domain | set http://127.0.0.2/ n=v; Domain=0.0.2 | get http://127.0.0.2/
        An address is not its names | set https://one.test/ n=v | get http://127.0.0.2/
        A-labels as Domain | set http://a.xn--bcher-kva.test/ n=v; Domain=xn--bcher-kva.test \
        | get http://xn--bcher-kva.test/ n=v
        Letters outside ASCII as Domain | set http://a.xn--bcher-kva.test/ n=v; Domain=bücher.test \
        | get http://a.xn--bcher-kva.test/
        A host outside ASCII | set https://bücher.test/ n=v | get https://xn--bcher-kva.test/ n=v
        A host with a trailing dot | set https://one.test./ n=v | get https://one.test/ n=v
        A host in capitals | set https://ONE.test/ n=v | get https://one.test/ n=v
        Host-only and domain cookies are two | set http://x.wild.test/ n=1 \
        | set http://x.wild.test/ n=2; Domain=x.wild.test | get http://x.wild.test/ n=1; n=2
        """
    )

    static let paths = table(
        """
        The default path is the folder | set https://a.wild.test/x/y/ n=v | get https://a.wild.test/x/y/ n=v \
        | get https://a.wild.test/x/
        The default path of a page | set https://a.wild.test/x/page- n=v | get https://a.wild.test/x/ n=v \
        | get https://a.wild.test/
        Path of the root | set https://a.wild.test/x/ n=v; Path=/ | get https://a.wild.test/ n=v
        Path with a slash at the end | set https://a.wild.test/ n=v; Path=/x/ | get https://a.wild.test/x/ n=v \
        | get https://a.wild.test/xy/
        Path matches whole segments | set https://a.wild.test/ n=v; Path=/x | get https://a.wild.test/x/y/ n=v \
        | get https://a.wild.test/xy/
        Path of one page | set https://a.wild.test/ n=v; Path=/x/show-cookies | get https://a.wild.test/x/ n=v \
        | get https://a.wild.test/y/
        Path keeps its case | set https://a.wild.test/ n=v; Path=/X | get https://a.wild.test/x/ \
        | get https://a.wild.test/X/ n=v
        Path without a slash | set https://a.wild.test/x/ n=v; Path=y | get https://a.wild.test/x/ n=v \
        | get https://a.wild.test/y/
        Empty Path | set https://a.wild.test/x/ n=v; Path= | get https://a.wild.test/x/ n=v | get https://a.wild.test/
        The last Path wins | set https://a.wild.test/ n=v; Path=/y; Path=/x | get https://a.wild.test/x/ n=v
        Path of another folder | set https://a.wild.test/x/ n=v; Path=/y | get https://a.wild.test/y/ n=v
        A path of 1024 bytes is taken | set https://a.wild.test/ n=v; Path=/\(long(1023)) | get https://a.wild.test/ \
        | get https://a.wild.test/\(long(1023))/ n=v
        A path of 1025 bytes is ignored | set https://a.wild.test/ n=v; Path=/\(long(1024)) \
        | get https://a.wild.test/ n=v
        Paths make two cookies | set https://a.wild.test/ n=1; Path=/ | set https://a.wild.test/ n=2; Path=/x \
        | get https://a.wild.test/x/ n=2; n=1
        """
    )

    static let secure = table(
        """
        Secure is not sent in clear text | set https://one.test/ n=v; Secure | get https://one.test/ n=v \
        | get http://one.test/
        Secure from clear text is ignored | set http://one.test/ n=v; Secure | get https://one.test/
        Secure with a value | set https://one.test/ n=v; Secure=no | get http://one.test/
        Secure in any case | set https://one.test/ n=v; sEcUrE | get http://one.test/
        Without Secure it is sent to both | set https://one.test/ n=v | get http://one.test/ n=v
        Clear text does not replace a Secure cookie | set https://one.test/ n=1; Secure | set http://one.test/ n=2 \
        | get https://one.test/ n=1
        Clear text does not cover it from the parent | set https://a.wild.test/ n=1; Secure \
        | set http://a.wild.test/ n=2; Domain=wild.test | get https://a.wild.test/ n=1
        Clear text does not cover it from a longer path | set https://one.test/ n=1; Secure; Path=/x \
        | set http://one.test/ n=2; Path=/x/y | get https://one.test/x/y/ n=1
        Clear text may use a shorter path | set https://one.test/ n=1; Secure; Path=/x \
        | set http://one.test/ n=2; Path=/ | get https://one.test/x/ n=1; n=2
        https may replace a Secure cookie | set https://one.test/ n=1; Secure | set https://one.test/ n=2 \
        | get http://one.test/ n=2
        HttpOnly cookies are sent | set https://one.test/ n=v; HttpOnly | get http://one.test/ n=v
        Ports share cookies | set http://one.test/ n=v | get https://one.test/ n=v
        """
    )

    static let prefixes = table(
        """
        __Secure- with Secure | set https://one.test/ __Secure-n=v; Secure | get https://one.test/ __Secure-n=v
        __Secure- without Secure | set https://one.test/ __Secure-n=v | get https://one.test/
        __secure- in lower case | set https://one.test/ __secure-n=v | get https://one.test/
        __Host- with all it needs | set https://one.test/ __Host-n=v; Secure; Path=/ \
        | get https://one.test/ __Host-n=v
        __Host- without Path | set https://one.test/ __Host-n=v; Secure | get https://one.test/
        __Host- with another path | set https://one.test/ __Host-n=v; Secure; Path=/x | get https://one.test/x/
        __Host- with Domain | set https://a.wild.test/ __Host-n=v; Secure; Path=/; Domain=wild.test \
        | get https://a.wild.test/
        __Host- without Secure | set https://one.test/ __Host-n=v; Path=/ | get https://one.test/
        __hOsT- in another case | set https://one.test/ __hOsT-n=v; Path=/ | get https://one.test/
        No name, a value with the prefix | set https://one.test/ =__Host-n=v; Secure; Path=/ | get https://one.test/
        No name, a value with the prefix in lower case | set https://one.test/ __secure-n; Secure \
        | get https://one.test/
        """
    )

    static let lives = table(
        """
        Max-Age ends | set https://one.test/ n=v; Max-Age=10 | wait 9 | get https://one.test/ n=v | wait 1 \
        | get https://one.test/
        Max-Age of 0 deletes | set https://one.test/ n=v | set https://one.test/ n=v; Max-Age=0 \
        | get https://one.test/
        A negative Max-Age deletes | set https://one.test/ n=v | set https://one.test/ n=v; Max-Age=-1 \
        | get https://one.test/
        Max-Age that is no number | set https://one.test/ n=v; Max-Age=1x | wait 9 | get https://one.test/ n=v
        Max-Age beyond all numbers | set https://one.test/ n=v; Max-Age=\(String(repeating: "9", count: 30)) \
        | wait 34559999 | get https://one.test/ n=v | wait 1 | get https://one.test/
        Expires in the past deletes | set https://one.test/ n=v \
        | set https://one.test/ n=; Expires=Thu, 01 Jan 1970 00:00:00 GMT | get https://one.test/
        Expires in the future | set https://one.test/ n=v; Expires=Tue, 14 Nov 2023 22:13:30 GMT | wait 9 \
        | get https://one.test/ n=v | wait 1 | get https://one.test/
        Expires in the form of asctime | set https://one.test/ n=v; Expires=Tue Nov 14 22:13:30 2023 | wait 10 \
        | get https://one.test/
        Expires that is no date | set https://one.test/ n=v; Expires=never | wait 99999999 | get https://one.test/ n=v
        Max-Age wins over Expires | set https://one.test/ n=v; Max-Age=10; Expires=Thu, 01 Jan 1970 00:00:00 GMT \
        | get https://one.test/ n=v
        The last Max-Age wins | set https://one.test/ n=v; Max-Age=0; Max-Age=10 | get https://one.test/ n=v
        No life is longer than 400 days | set https://one.test/ n=v; Expires=Fri, 31 Dec 9999 23:59:59 GMT \
        | wait 34559999 | get https://one.test/ n=v | wait 1 | get https://one.test/
        A deletion needs the path | set https://one.test/ n=v; Path=/x | set https://one.test/ n=; Max-Age=0 \
        | get https://one.test/x/ n=v
        A deletion needs the domain | set https://a.wild.test/ n=v; Domain=wild.test \
        | set https://a.wild.test/ n=; Max-Age=0 | get https://a.wild.test/ n=v
        A session cookie stays | set https://one.test/ n=v | wait 99999999 | get https://one.test/ n=v
        """
    )

    static let sites = table(
        """
        SameSite=Strict is sent to a caller's URL | set https://one.test/ n=v; SameSite=Strict \
        | get https://one.test/ n=v
        SameSite=Lax is sent to a caller's URL | set https://one.test/ n=v; SameSite=Lax | get https://one.test/ n=v
        SameSite=None needs Secure | set https://one.test/ n=v; SameSite=None | get https://one.test/
        SameSite=None with Secure | set https://one.test/ n=v; SameSite=None; Secure | get https://one.test/ n=v
        An unknown SameSite | set https://one.test/ n=v; SameSite=Sometimes | get https://one.test/ n=v
        """
    )

    static let order = table(
        """
        Longer paths first | set https://one.test/ a=1; Path=/ | set https://one.test/ b=2; Path=/x/y \
        | set https://one.test/ c=3; Path=/x | get https://one.test/x/y/ b=2; c=3; a=1
        Earlier creation first | set https://one.test/ b=1 | wait 1 | set https://one.test/ a=2 \
        | get https://one.test/ b=1; a=2
        A new value keeps the first creation | set https://one.test/ b=1 | wait 1 | set https://one.test/ a=2 | wait 1 \
        | set https://one.test/ b=3 | get https://one.test/ b=3; a=2
        A deleted cookie begins again | set https://one.test/ b=1 | set https://one.test/ a=2 \
        | set https://one.test/ b=; Max-Age=0 | set https://one.test/ b=3 | get https://one.test/ a=2; b=3
        Domains do not change the order | set https://a.wild.test/ n=1; Domain=wild.test \
        | set https://a.wild.test/ m=2 | get https://a.wild.test/ n=1; m=2
        """
    )

    static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
}
