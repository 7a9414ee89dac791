// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension CacheSuiteCase {
    static let all = freshness + directives + validation + variants + requests + methods + families

    private static let fresh = "cache-control: max-age=100000; expires: @100000; last-modified: @0; date: @0"

    private static func max(_ value: String, _ expected: String) -> String {
        "cache-control: \(value); pause | =\(expected)"
    }

    private static func expires(_ value: String, _ expected: String) -> String {
        "expires: \(value); date: @0; pause | =\(expected)"
    }

    private static func age(_ value: String) -> String {
        "date: @0; cache-control: max-age=3600; \(value); pause | =hit"
    }

    private static let freshness: [CacheSuiteCase] = [
        .init("freshness-none", .check, "pause | =sent"),
        .init("freshness-max-age", .optimal, max("max-age=3600", "hit")),
        .init("freshness-max-age-0", .required, max("max-age=0", "sent")),
        .init("freshness-max-age-max", .optimal, max("max-age=2147483648", "hit")),
        .init("freshness-max-age-max-plus", .optimal, max("max-age=99999999999", "hit")),
        .init("freshness-max-age-age", .required, "date: @0; cache-control: max-age=10; age: 15; pause | =sent"),
        .init(
            "freshness-max-age-expires",
            .optimal,
            "cache-control: max-age=3600; expires: @-10000; date: @0; pause | =hit"
        ),
        .init(
            "freshness-max-age-expires-invalid",
            .optimal,
            "cache-control: max-age=3600; expires: 0; date: @0; pause | =hit"
        ),
        .init(
            "freshness-max-age-0-expires",
            .required,
            "expires: @10000; cache-control: max-age=0; date: @0; pause | =sent"
        ),
        .init("freshness-max-age-extension", .optimal, max("foobar, max-age=3600", "hit")),
        .init("freshness-max-age-case-insenstive", .optimal, max("MaX-aGe=3600", "hit")),
        .init("freshness-max-age-negative", .required, max("max-age=-100", "sent")),
        .init("freshness-max-age-s-maxage-private", .required, max("s-maxage=3600, max-age=1", "sent"), .private),
        .init(
            "freshness-max-age-s-maxage-private-multiple",
            .required,
            "cache-control: s-maxage=3600; cache-control: max-age=1; pause | =sent",
            .private
        ),
        .init("freshness-s-maxage-shared", .optimal, max("s-maxage=3600", "hit"), .shared),
        .init("freshness-max-age-s-maxage-shared-longer", .required, max("max-age=3600, s-maxage=1", "sent"), .shared),
        .init(
            "freshness-max-age-s-maxage-shared-longer-reversed",
            .required,
            max("s-maxage=1, max-age=3600", "sent"),
            .shared
        ),
        .init(
            "freshness-max-age-s-maxage-shared-longer-multiple",
            .required,
            "cache-control: max-age=3600; cache-control: s-maxage=1; pause | =sent",
            .shared
        ),
        .init("freshness-max-age-s-maxage-shared-shorter", .optimal, max("max-age=1, s-maxage=3600", "hit"), .shared),
        .init(
            "freshness-max-age-two-fresh-stale-sameline",
            .check,
            max("max-age=1800, max-age=1", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-max-age-two-fresh-stale-sepline",
            .check,
            "cache-control: max-age=1800; cache-control: max-age=1; pause | =hit",
            shared: false,
            own: false
        ),
        .init(
            "freshness-max-age-two-stale-fresh-sameline",
            .check,
            max("max-age=1, max-age=1800", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-max-age-two-stale-fresh-sepline",
            .check,
            "cache-control: max-age=1; cache-control: max-age=1800; pause | =hit",
            shared: false,
            own: false
        ),
        .init("freshness-max-age-ignore-quoted", .required, max("extension=\"max-age=3600\", max-age=1", "sent")),
        .init("freshness-max-age-ignore-quoted-rev", .required, max("max-age=1, extension=\"max-age=3600\"", "sent")),
        .init("freshness-max-age-quoted", .check, max("max-age=\"3600\"", "hit")),
        .init("freshness-max-age-space-before-equals", .check, max("max-age =3600", "sent")),
        .init("freshness-max-age-space-after-equals", .check, max("max-age= 3600", "sent")),
        .init("freshness-max-age-leading-zero", .required, max("max-age=003600", "hit")),
        .init("freshness-max-age-single-quoted", .required, max("max-age='3600'", "sent")),
        .init("freshness-max-age-decimal-zero", .check, max("max-age=3600.0", "hit"), shared: false, own: false),
        .init("freshness-max-age-decimal-five", .check, max("max-age=3600.5", "hit"), shared: false, own: false),
        .init("freshness-max-age-a100", .check, max("max-age=a3600", "hit"), shared: false, own: false),
        .init("freshness-max-age-100a", .check, max("max-age=3600a", "hit"), shared: false, own: false),
        .init("freshness-expires-future", .optimal, expires("@2592000", "hit")),
        .init("freshness-expires-past", .required, expires("@-2592000", "sent")),
        .init("freshness-expires-present", .required, expires("@0", "sent")),
        .init("freshness-expires-old-date", .required, "expires: @300; date: @400; pause | =sent"),
        .init("freshness-expires-invalid", .required, expires("0", "sent")),
        .init("freshness-expires-invalid-date", .optimal, "date: foo; expires: @10 | =hit"),
        .init("freshness-expires-age-slow-date", .required, "date: @-10; expires: @10; age: 25 | =sent"),
        .init("freshness-expires-age-fast-date", .required, "date: @10; expires: @20; age: 15 | =sent"),
        .init(
            "freshness-expires-wrong-case-weekday",
            .check,
            expires("THU, 18 Aug 2050 02:01:18 GMT", "hit")
        ),
        .init(
            "freshness-expires-wrong-case-month",
            .check,
            expires("Thu, 18 AUG 2050 02:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-wrong-case-tz",
            .check,
            expires("Thu, 18 Aug 2050 02:01:18 gMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-utc",
            .check,
            expires("Thu, 18 Aug 2050 02:01:18 UTC", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-2-digit-year",
            .check,
            expires("Thu, 18 Aug 50 02:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-no-comma",
            .check,
            expires("Thu 18 Aug 2050 02:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-multiple-spaces",
            .check,
            expires("Thu, 18  Aug  2050 02:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-date-dashes",
            .check,
            expires("Thu, 18-Aug-2050 02:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-time-periods",
            .check,
            expires("Thu, 18 Aug 2050 02.01.18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "freshness-expires-invalid-1-digit-hour",
            .check,
            expires("Thu, 18 Aug 2050 2:01:18 GMT", "hit"),
            shared: false,
            own: false
        ),
        .init("age-parse-nonnumeric", .check, age("age: abc")),
        .init("age-parse-negative", .check, age("age: -7200")),
        .init("age-parse-float", .check, age("age: 7200.0")),
        .init("age-parse-suffix", .check, age("age: 7200,0"), shared: false, own: false),
        .init("age-parse-suffix-twoline", .check, age("age: 7200; age: 0"), shared: false, own: false),
        .init("age-parse-prefix", .check, age("age: 0,7200")),
        .init("age-parse-prefix-twoline", .check, age("age: 0; age: 7200")),
        .init("age-parse-dup-0", .check, age("age: 0, 0")),
        .init("age-parse-dup-0-twoline", .check, age("age: 0; age: 0")),
        .init("age-parse-dup-old", .check, age("age: 7200, 7200"), shared: false, own: false),
        .init("age-parse-dup-old-twoline", .check, age("age: 7200; age: 7200"), shared: false, own: false),
        .init("other-age-gen", .required, "expires: @2592000; date: @0; pause | =hit; ~age: 3"),
        .init("other-age-update-expires", .required, "expires: @2592000; date: @0; age: 30; pause | =hit; ~age: 33"),
        .init(
            "other-age-update-max-age",
            .required,
            "cache-control: max-age=600; date: @0; age: 30; pause | =hit; ~age: 33"
        ),
        .init("other-date-update", .required, "expires: @2592000; date: @0; pause | =hit; ~date: @0"),
    ]

    private static let directives: [CacheSuiteCase] = [
        .init("cc-resp-private-shared", .required, "cache-control: private, max-age=3600 | =sent", .shared),
        .init("cc-resp-private-private", .optimal, "cache-control: private, max-age=3600 | =hit", .private),
        .init("cc-resp-no-store", .required, "cache-control: no-store | =sent"),
        .init("cc-resp-no-store-case-insensitive", .required, "cache-control: No-StOrE | =sent"),
        .init(
            "cc-resp-no-store-fresh",
            .required,
            "cache-control: max-age=10000, no-store; expires: @10000; date: @0 | =sent"
        ),
        .init(
            "cc-resp-no-store-old-new",
            .check,
            "cache-control: max-age=10000; a: 1; pause | cache-control: no-store; a: 2; pause | =hit; ~a: 1"
        ),
        .init(
            "cc-resp-no-store-old-max-age",
            .check,
            "cache-control: max-age=10000; a: 1; pause | cache-control: no-store, max-age=0; a: 2; pause | =hit; ~a: 1"
        ),
        .init(
            "cc-resp-no-cache",
            .required,
            "cache-control: max-age=10000, no-cache; expires: @10000; date: @0 | =sent"
        ),
        .init(
            "cc-resp-no-cache-case-insensitive",
            .required,
            "cache-control: max-age=10000, No-CaChE; expires: @10000; date: @0 | =sent"
        ),
        .init("cc-resp-no-cache-revalidate", .optimal, "cache-control: no-cache; etag: \"abcd\" | =etag"),
        .init(
            "cc-resp-no-cache-revalidate-fresh",
            .optimal,
            "cache-control: max-age=10000, no-cache; expires: @10000; date: @0; etag: \"abcd\" | =etag"
        ),
        .init(
            "headers-omit-headers-listed-in-Cache-Control-no-cache-single",
            .check,
            "cache-control: no-cache=\"a\"; a: 1; b: 2; cache-control: max-age=3600; date: @0; pause | =hit; ~b: 2; !a",
            shared: false,
            own: false
        ),
        .init(
            "headers-omit-headers-listed-in-Cache-Control-no-cache",
            .check,
            "cache-control: no-cache=\"a, b\"; a: 1; b: 2; c: 3; cache-control: max-age=3600; date: @0; pause | =hit; ~c: 3; !a; !b",
            shared: false,
            own: false
        ),
        .init(
            "cc-resp-must-revalidate-fresh",
            .optimal,
            "cache-control: max-age=10000, must-revalidate; etag: \"abcd\" | =hit"
        ),
        .init(
            "cc-resp-must-revalidate-stale",
            .required,
            "cache-control: max-age=2, must-revalidate; etag: \"abcd\" | =hit; pause | =etag"
        ),
        .init(
            "cc-resp-immutable-fresh",
            .optimal,
            "cache-control: max-age=10000, immutable; etag: \"abcd\"; pause | >cache-control: max-age=0; =hit",
            .private
        ),
        .init(
            "cc-resp-immutable-stale",
            .required,
            "cache-control: max-age=2, immutable; etag: \"abcd\"; pause | >cache-control: max-age=0; =etag",
            .private
        ),
        .init(
            "pragma-request-no-cache",
            .check,
            "cache-control: max-age=3600 | >pragma: no-cache; =hit",
            shared: false,
            own: false
        ),
        .init(
            "pragma-request-extension",
            .check,
            "cache-control: max-age=3600 | >pragma: unrecognised-extension; =hit"
        ),
        .init("pragma-response-no-cache", .check, "cache-control: max-age=3600; pragma: no-cache | =hit"),
        .init(
            "pragma-response-no-cache-heuristic",
            .check,
            "last-modified: @-10000; pragma: no-cache | =hit",
            shared: false,
            own: false
        ),
        .init(
            "pragma-response-extension",
            .check,
            "cache-control: max-age=3600; pragma: unrecognised-extension | =hit"
        ),
        .init("stale-close", .check, "cache-control: max-age=2; pause | close; =hit", shared: false, own: false),
        .init(
            "stale-503",
            .check,
            "cache-control: max-age=2; pause | status 503; expect 200; =hit",
            shared: false,
            own: false
        ),
        .init("stale-sie-close", .check, "cache-control: max-age=2, stale-if-error=60; pause | close; =stale"),
        .init(
            "stale-sie-503",
            .check,
            "cache-control: max-age=2, stale-if-error=60; pause | status 503; expect 200; =stale"
        ),
        .init(
            "stale-close-must-revalidate",
            .required,
            "cache-control: max-age=2, must-revalidate; pause | close; =sent"
        ),
        .init(
            "stale-close-proxy-revalidate",
            .required,
            "cache-control: max-age=2, proxy-revalidate; pause | close; =sent"
        ),
        .init("stale-close-no-cache", .required, "cache-control: max-age=2, no-cache; pause | close; =sent"),
        .init("stale-close-s-maxage=2", .required, "cache-control: max-age=2, s-maxage=2; pause | close; =sent"),
        .init(
            "stale-while-revalidate",
            .check,
            "cache-control: max-age=1, stale-while-revalidate=3600; pause | =stale"
        ),
        .init(
            "stale-while-revalidate-window",
            .required,
            "cache-control: max-age=1, stale-while-revalidate=1; pause | =sent"
        ),
        .init(
            "other-authorization",
            .required,
            ">authorization: FOO; expires: @2592000; date: @0; pause | =sent",
            .shared
        ),
        .init(
            "other-authorization-public",
            .optimal,
            ">authorization: FOO; cache-control: max-age=3600, public; date: @0; pause | =hit",
            .shared
        ),
        .init(
            "other-authorization-must-revalidate",
            .optimal,
            ">authorization: FOO; cache-control: max-age=3600, must-revalidate; date: @0; pause | =hit",
            .shared
        ),
        .init(
            "other-authorization-smaxage",
            .optimal,
            ">authorization: FOO; cache-control: s-maxage=3600; date: @0; pause | =hit",
            .shared
        ),
        .init("other-set-cookie", .optimal, "cache-control: max-age=3600; set-cookie: a=b | =hit", shared: false),
        .init("other-cookie", .optimal, "cache-control: max-age=3600 | >cookie: a=b; =hit", own: false),
        .init(
            "other-fresh-content-disposition-attachment",
            .check,
            "cache-control: max-age=3600; content-disposition: attachment | =hit"
        ),
        .init(
            "other-heuristic-content-disposition-attachment",
            .check,
            "last-modified: @-100000; date: @0; content-disposition: attachment | =hit"
        ),
    ]

    private static func own(_ stored: String, _ sent: String, _ rest: String = "=hit; expect 304") -> String {
        "\(fresh); etag: \(stored) | >if-none-match: \(sent); \(rest)"
    }

    private static let validation: [CacheSuiteCase] = [
        .init("conditional-etag-strong-respond", .optimal, own("\"abcdef\"", "\"abcdef\"")),
        .init(
            "conditional-304-etag",
            .required,
            own("\"abcdef\"", "\"abcdef\"", "=hit; expect 304; ~etag: \"abcdef\"")
        ),
        .init(
            "conditional-etag-precedence",
            .required,
            "cache-control: max-age=100000; last-modified: @-5000; etag: \"abcdef\" | >if-none-match: \"abcdef\"; >if-modified-since: @-9000; =hit; expect 304"
        ),
        .init(
            "conditional-etag-quoted-respond-unquoted",
            .check,
            own("\"abcdef\"", "abcdef"),
            shared: false,
            own: false
        ),
        .init("conditional-etag-unquoted-respond-unquoted", .check, own("abcdef", "abcdef")),
        .init(
            "conditional-etag-unquoted-respond-quoted",
            .check,
            own("abcdef", "\"abcdef\""),
            shared: false,
            own: false
        ),
        .init("conditional-etag-weak-respond", .optimal, own("W/\"abcdef\"", "W/\"abcdef\"")),
        .init("conditional-etag-weak-respond-lowercase", .check, own("w/\"abcdef\"", "w/\"abcdef\"")),
        .init("conditional-etag-weak-respond-backslash", .check, own("W\\\"abcdef\"", "W\\\"abcdef\"")),
        .init("conditional-etag-weak-respond-omit-slash", .check, own("W\"abcdef\"", "W\"abcdef\"")),
        .init(
            "conditional-etag-strong-respond-multiple-first",
            .optimal,
            own("\"abcdef\"", "\"abcdef\", \"1234\", \"5678\"")
        ),
        .init(
            "conditional-etag-strong-respond-multiple-second",
            .optimal,
            own("\"abcdef\"", "\"1234\", \"abcdef\", \"5678\"")
        ),
        .init(
            "conditional-etag-strong-respond-multiple-last",
            .optimal,
            own("\"abcdef\"", "\"1234\", \"5678\", \"abcdef\"")
        ),
        .init(
            "conditional-etag-vary-headers",
            .required,
            ">abc: 123; expires: @1; etag: \"abcdef\"; date: @0; vary: Abc; pause | >abc: 123; =etag; <abc: 123"
        ),
        .init(
            "conditional-etag-vary-headers-mismatch",
            .check,
            ">abc: 123; expires: @10000; etag: \"abcdef\"; date: @0; vary: Abc; pause | >abc: 456; =sent; <!if-none-match"
        ),
        .init(
            "conditional-etag-strong-generate",
            .optimal,
            "cache-control: max-age=2; etag: \"abcdef\"; pause | =etag; <if-none-match: \"abcdef\""
        ),
        .init(
            "conditional-etag-weak-generate-weak",
            .optimal,
            "cache-control: max-age=2; etag: W/\"abcdef\"; pause | =etag; <if-none-match: W/\"abcdef\""
        ),
        .init(
            "conditional-etag-strong-generate-unquoted",
            .check,
            "cache-control: max-age=2; etag: abcdef; pause | =etag; <if-none-match: \"abcdef\"",
            shared: false,
            own: false
        ),
        .init("conditional-etag-forward", .check, ">if-none-match: \"abcdef\"; =sent; <if-none-match: \"abcdef\""),
        .init(
            "conditional-etag-forward-unquoted",
            .check,
            ">if-none-match: abcdef; =sent; <if-none-match: \"abcdef\"",
            shared: false,
            own: false
        ),
        .init(
            "conditional-lm-fresh",
            .optimal,
            "cache-control: max-age=100000; last-modified: @-3000; date: @0; pause | >if-modified-since: @-3000; =hit; expect 304"
        ),
        .init(
            "conditional-lm-fresh-earlier",
            .optimal,
            "cache-control: max-age=100000; last-modified: @-3000; date: @0; pause | >if-modified-since: @-2000; =hit; expect 304"
        ),
        .init(
            "conditional-lm-stale",
            .optimal,
            "cache-control: max-age=2; last-modified: @-3000; date: @0; pause | >if-modified-since: @-3000; expect 304; <if-modified-since: @-3000"
        ),
        .init(
            "conditional-lm-fresh-no-lm",
            .optimal,
            "cache-control: max-age=10000; date: @0; pause | >if-modified-since: @-3000; =hit; expect 304",
            shared: false,
            own: false
        ),
        // Sunday, 06-Nov-94 08:49:37 GMT is the moment of the first request.
        .init(
            "conditional-lm-fresh-rfc850",
            .optimal,
            "cache-control: max-age=10000; last-modified: @-3000; date: @0; pause | >if-modified-since: Sunday, 06-Nov-94 08:49:37 GMT; =hit; expect 304",
            shared: false,
            own: false
        ),
        .init(
            "ccreq-no-cache-lm",
            .check,
            "cache-control: max-age=3600; last-modified: @-10000; date: @0 | >cache-control: no-cache; =lm"
        ),
        .init(
            "ccreq-no-cache-etag",
            .check,
            "cache-control: max-age=3600; etag: \"abc\" | >cache-control: no-cache; =etag"
        ),
        .init(
            "304-lm-use-stored-Test-Header",
            .required,
            "cache-control: max-age=1; last-modified: @-86400; date: @0; test-header: A; pause | cache-control: max-age=3600; last-modified: @-86400; =lm; ~test-header: A"
        ),
        .init("head-writethrough", .check, "cache-control: max-age=2; pause | method HEAD; =sent"),
        .init(
            "head-200-freshness-update",
            .check,
            "cache-control: max-age=2; a: 1; pause | method HEAD; cache-control: max-age=1000; =sent | =hit"
        ),
        .init(
            "head-200-update",
            .check,
            "cache-control: max-age=2; a: 1; pause | method HEAD; cache-control: max-age=1000; a: 2; =sent | =hit; ~a: 2"
        ),
        .init(
            "head-410-update",
            .check,
            "cache-control: max-age=2; a: 1; pause | method HEAD; status 410; cache-control: max-age=1000; a: 2; =sent | =hit; ~a: 2",
            shared: false,
            own: false
        ),
    ]

    private static func vary(_ first: String, _ vary: String, _ second: String, _ expected: String) -> String {
        "\(first); cache-control: max-age=5000; last-modified: @-3000; date: @0; \(vary) | \(second); =\(expected)"
    }

    private static let variants: [CacheSuiteCase] = [
        .init("vary-match", .optimal, vary(">foo: 1", "vary: Foo", ">foo: 1", "hit")),
        .init("vary-no-match", .required, vary(">foo: 1", "vary: Foo", ">foo: 2", "sent")),
        .init("vary-omit", .required, vary(">foo: 1", "vary: Foo", ">other: 1", "sent")),
        .init("vary-omit-stored", .required, vary(">other: 1", "vary: Foo", ">foo: 1", "sent")),
        .init(
            "vary-invalidate",
            .optimal,
            ">foo: 1; cache-control: max-age=5000; vary: Foo; body one | >foo: 2; cache-control: max-age=5000; vary: Foo; body two; =sent | >foo: 1; =hit; text one"
        ),
        .init("vary-cache-key", .optimal, vary(">foo: 1; >other: 2", "vary: Foo", ">foo: 1; >other: 3", "hit")),
        .init("vary-2-match", .optimal, vary(">foo: 1; >bar: abc", "vary: Foo, Bar", ">foo: 1; >bar: abc", "hit")),
        .init("vary-2-no-match", .required, vary(">foo: 1; >bar: abc", "vary: Foo, Bar", ">foo: 2; >bar: abc", "sent")),
        .init("vary-2-match-omit", .required, vary(">foo: 1", "vary: Foo, Bar", ">other: 1", "sent")),
        .init(
            "vary-3-match",
            .optimal,
            vary(">foo: 1; >bar: abc; >baz: 789", "vary: Foo, Bar, Baz", ">foo: 1; >bar: abc; >baz: 789", "hit")
        ),
        .init(
            "vary-3-no-match",
            .required,
            vary(">foo: 1; >bar: abc; >baz: 789", "vary: Foo, Bar, Baz", ">foo: 2; >bar: abc; >baz: 789", "sent")
        ),
        .init(
            "vary-3-order",
            .required,
            vary(">foo: 1; >bar: abc4; >baz: 789", "vary: Foo, Bar, Baz", ">foo: 1; >bar: abc; >baz: 789", "sent")
        ),
        .init("vary-3-omit", .optimal, vary(">foo: 1; >baz: 789", "vary: Foo, Bar, Baz", ">foo: 1; >baz: 789", "hit")),
        .init("vary-normalise-space", .optimal, vary(">foo: 1,2", "vary: Foo", ">foo:  1, 2 ", "hit")),
        .init("vary-normalise-combine", .optimal, vary(">foo: 1, 2", "vary: Foo", ">foo: 1; >foo: 2", "hit")),
        .init(
            "vary-normalise-lang-order",
            .optimal,
            vary(">accept-language: en, de", "vary: Accept-Language", ">accept-language: de, en", "hit"),
            shared: false,
            own: false
        ),
        .init(
            "vary-normalise-lang-case",
            .optimal,
            vary(">accept-language: en, de", "vary: Accept-Language", ">accept-language: eN, De", "hit")
        ),
        .init(
            "vary-normalise-lang-space",
            .optimal,
            vary(">accept-language: en, de", "vary: Accept-Language", ">accept-language:   en ,   de", "hit")
        ),
        .init("vary-star", .required, vary(">foo: 1", "vary: *", ">foo: 1", "sent")),
        .init("vary-syntax-star-star", .required, vary(">foo: 1", "vary: *, *", ">foo: 1", "sent")),
        .init("vary-syntax-star-star-lines", .required, vary(">foo: 1", "vary: *; vary: *", ">foo: 1", "sent")),
        .init("vary-syntax-empty-star", .required, vary(">foo: 1", "vary: , *", ">foo: 1", "sent")),
        .init("vary-syntax-empty-star-lines", .required, vary(">foo: 1", "vary: ; vary: *", ">foo: 1", "sent")),
        .init("vary-syntax-star-foo", .required, vary(">foo: 1", "vary: *, Foo", ">foo: 1", "sent")),
        .init("vary-syntax-foo-star", .required, vary(">foo: 1", "vary: Foo, *", ">foo: 1", "sent")),
    ]

    private static func part(_ range: String, _ text: String) -> String {
        "cache-control: max-age=3600; body 0123456789A | >range: bytes=\(range); =hit; expect 206; text \(text)"
    }

    private static func parts(_ range: String, _ text: String) -> String {
        ">range: bytes=-5; status 206; cache-control: max-age=3600; content-range: bytes 5-9/10; body 01234 | >range: bytes=\(range); =hit; expect 206; text \(text)"
    }

    private static let requests: [CacheSuiteCase] = [
        .init("ccreq-ma0", .check, "\(fresh); pause | >cache-control: max-age=0; =sent"),
        .init("ccreq-ma1", .check, "cache-control: max-age=3600; pause | >cache-control: max-age=1; =sent"),
        .init(
            "ccreq-magreaterage",
            .check,
            "cache-control: max-age=3600; age: 1800 | >cache-control: max-age=600; =sent"
        ),
        .init("ccreq-max-stale", .check, "cache-control: max-age=1; pause | >cache-control: max-stale=1000; =stale"),
        .init(
            "ccreq-max-stale-age",
            .check,
            "cache-control: max-age=1500; age: 2000 | >cache-control: max-stale=1000; =stale"
        ),
        .init("ccreq-min-fresh", .check, "cache-control: max-age=1500 | >cache-control: min-fresh=2000; =sent"),
        .init(
            "ccreq-min-fresh-age",
            .check,
            "cache-control: max-age=1500; age: 1000 | >cache-control: min-fresh=1000; =sent"
        ),
        .init("ccreq-no-cache", .check, "cache-control: max-age=3600 | >cache-control: no-cache; =sent"),
        .init(
            "ccreq-no-store",
            .check,
            "cache-control: max-age=3600 | >cache-control: no-store; =sent",
            shared: false,
            own: false
        ),
        .init("ccreq-oic", .check, ">cache-control: only-if-cached; expect 504"),
        .init("query-args-different", .required, "path /a?test=1; \(fresh) | path /a?test=2; =sent"),
        .init("query-args-same", .optimal, "path /a?test=1; \(fresh) | path /a?test=1; =hit"),
        .init("partial-store-complete-reuse-partial", .optimal, part("0-1", "01")),
        .init("partial-store-complete-reuse-partial-no-last", .optimal, part("1-", "123456789A")),
        .init("partial-store-complete-reuse-partial-suffix", .optimal, part("-1", "A")),
        .init("partial-store-partial-reuse-partial", .optimal, parts("-5", "01234"), shared: false, own: false),
        .init(
            "partial-store-partial-reuse-partial-byterange",
            .optimal,
            parts("6-8", "123"),
            shared: false,
            own: false
        ),
        .init("partial-store-partial-reuse-partial-absent", .optimal, parts("6-", "1234"), shared: false, own: false),
        .init("partial-store-partial-reuse-partial-suffix", .optimal, parts("-1", "4"), shared: false, own: false),
        .init(
            "partial-store-partial-complete",
            .optimal,
            ">range: bytes=0-4; status 206; cache-control: max-age=3600; content-range: bytes 0-4/10; body 01234 | =sent; <range: bytes=5-",
            shared: false,
            own: false
        ),
        .init(
            "method-POST",
            .optimal,
            "method POST; expires: @2592000; content-location: /page; date: @0; pause | =hit",
            shared: false,
            own: false
        ),
    ]

    private static let methods: [CacheSuiteCase] = ["POST", "PUT", "DELETE", "M-SEARCH"].flatMap { method in
        [
            CacheSuiteCase("invalidate-\(method)", .required, "\(fresh) | method \(method) | =sent"),
            CacheSuiteCase("invalidate-\(method)-failed", .optimal, "\(fresh) | method \(method); status 500 | =hit"),
            CacheSuiteCase(
                "invalidate-\(method)-location",
                .required,
                "path /target; \(fresh) | method \(method); location: /target | path /target; =sent"
            ),
            CacheSuiteCase(
                "invalidate-\(method)-cl",
                .required,
                "path /target; \(fresh) | method \(method); content-location: /target | path /target; =sent"
            ),
        ]
    }

    private static let families: [CacheSuiteCase] = statuses + heuristics + storedFields + updatedFields

    private static let statuses = [
        200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599,
    ]
    .flatMap { status in
        [
            CacheSuiteCase(
                "status-\(status)-fresh",
                .optimal,
                "status \(status); \(fresh) | status \(status); =hit; expect \(status)"
            ),
            CacheSuiteCase(
                "status-\(status)-stale",
                .required,
                "status \(status); expires: @-5000; last-modified: @-100000; date: @0 | =sent"
            ),
        ]
    }

    private static let heuristics =
        [200, 203, 204, 404, 405, 410, 414, 501].map { status in
            CacheSuiteCase(
                "heuristic-\(status)-cached",
                .optimal,
                "status \(status); last-modified: @-86400; date: @0 | status \(status); =hit"
            )
        }
        + [201, 202, 403, 502, 503, 504, 599].map { status in
            CacheSuiteCase(
                "heuristic-\(status)-not_cached",
                .required,
                "status \(status); last-modified: @-86400; date: @0 | =sent"
            )
        }
        + [
            CacheSuiteCase(
                "heuristic-599-cached",
                .optimal,
                "status 599; last-modified: @-86400; date: @0; cache-control: public | =hit"
            )
        ]
        + [5, 10, 30, 60, 300, 600, 1200, 1800, 3600, 43_200, 86_400].map { seconds in
            let isFresh = seconds > 30
            return CacheSuiteCase(
                "heuristic-delta-\(seconds)",
                .check,
                "last-modified: @-\(seconds); date: @0; pause | =hit",
                shared: isFresh,
                own: isFresh
            )
        }

    private static let storedFields =
        [
            "Test-Header", "X-Test-Header", "Content-Type", "X-Frame-Options", "X-XSS-Protection", "Clear-Site-Data",
            "Public-Key-Pins", "Strict-Transport-Security", "WWW-Authenticate", "Content-Security-Policy",
            "Content-MD5",
            "Content-Location", "Content-Encoding", "ETag",
        ].map { name in
            CacheSuiteCase(
                "headers-store-\(name)",
                .check,
                "\(name): value; cache-control: max-age=3600; date: @0; pause | =hit; ~\(name): value"
            )
        }
        + [
            "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
            "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade",
        ].map { name in
            CacheSuiteCase(
                "headers-store-\(name)",
                .required,
                "\(name): value; cache-control: max-age=3600; date: @0; pause | =hit; !\(name)"
            )
        }
        + ["Set-Cookie", "Set-Cookie2"].map { name in
            CacheSuiteCase(
                "headers-store-\(name)",
                .check,
                "\(name): a=b; cache-control: max-age=3600; date: @0; pause | =hit; ~\(name): a=b",
                shared: false,
                own: false
            )
        }
        + [
            CacheSuiteCase(
                "headers-omit-headers-listed-in-Connection",
                .required,
                "connection: a, b; a: 1; b: 2; c: 3; cache-control: max-age=3600; date: @0; pause | =hit; ~c: 3; !connection; !a; !b"
            )
        ]

    private static let updatedFields = ["lm", "etag"].flatMap { kind in
        [
            "Test-Header", "X-Test-Header", "Content-Foo", "X-Content-Foo", "Content-Type", "Content-MD5",
            "Content-Location",
            "Content-Security-Policy", "X-Frame-Options", "X-XSS-Protection", "Clear-Site-Data", "Public-Key-Pins",
            "Expires",
        ]
        .flatMap { name in
            let validator = kind == "lm" ? "last-modified: @-86400" : "etag: \"tag\""
            let first = "cache-control: max-age=1; date: @0; \(validator); \(name): A; pause"
            let second = "cache-control: max-age=3600; \(validator); \(name): B; =\(kind)"
            return [
                CacheSuiteCase("304-\(kind)-update-response-\(name)", .required, "\(first) | \(second); ~\(name): B"),
                CacheSuiteCase(
                    "304-\(kind)-update-stored-\(name)",
                    .required,
                    "\(first) | \(second); pause | =hit; ~\(name): B"
                ),
            ]
        } + [
            CacheSuiteCase(
                "304-\(kind)-update-response-Content-Length",
                .required,
                "cache-control: max-age=1; date: @0; \(kind == "lm" ? "last-modified: @-86400" : "etag: \"tag\""); body 01234; content-length: 5; pause | cache-control: max-age=3600; \(kind == "lm" ? "last-modified: @-86400" : "etag: \"tag\""); content-length: 10; =\(kind); ~content-length: 5"
            )
        ]
    }
}
