// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct URLRewritingTests {
    /// Rules, a URL, and the URL that is sent.
    struct Case: Sendable, CustomTestStringConvertible {
        var rules: [String: String]
        var url: String
        var sent: String
        var testDescription: String { "\(url) by \(rules)" }

        init(_ rules: [String: String], _ url: String, _ sent: String) {
            (self.rules, self.url, self.sent) = (rules, url, sent)
        }
    }

    private static let two = ["old.test": "new.test", "old.test/a": "one.test/b", "old.test/a/deep": "two.test"]

    static let cases = [
        Case(two, "https://old.test/", "https://new.test/"),
        Case(two, "https://old.test/x?q=1#end", "https://new.test/x?q=1#end"),
        Case(two, "https://old.test/a", "https://one.test/b"),
        Case(two, "https://old.test/a/x?q=/a", "https://one.test/b/x?q=/a"),
        Case(two, "https://old.test/a?q=1", "https://one.test/b?q=1"),
        // A prefix ends at the border of a segment.
        Case(two, "https://old.test/ab", "https://new.test/ab"),
        Case(two, "https://old.test/b/a", "https://new.test/b/a"),
        // The longest prefix wins.
        Case(two, "https://old.test/a/deep/x", "https://two.test/x"),
        Case(two, "https://old.test/a/deep", "https://two.test/"),
        Case(two, "https://old.test/a/deeper", "https://one.test/b/deeper"),
        // Spelling, scheme and port.
        Case(two, "HTTPS://OLD.test./a/X", "https://one.test/b/X"),
        Case(two, "http://old.test:8080/a", "http://one.test:8080/b"),
        Case(["http://old.test": "https://new.test"], "http://old.test/x", "https://new.test/x"),
        Case(["http://old.test": "https://new.test"], "https://old.test/x", "https://old.test/x"),
        Case(["old.test:8080": "new.test"], "http://old.test:8080/x", "http://new.test/x"),
        Case(["old.test:8080": "new.test"], "http://old.test/x", "http://old.test/x"),
        Case(["old.test": "http://[::1]:9000/dev/"], "https://old.test/x", "http://[::1]:9000/dev/x"),
        Case(["old.test": "a.test", "old.test:444": "b.test:1"], "https://old.test:444/", "https://b.test:1/"),
        // The result is not compared with the rules again.
        Case(["one.test": "two.test", "two.test": "one.test"], "https://one.test/", "https://two.test/"),
        // User information belongs to its origin.
        Case(["one.test/a": "one.test/b"], "https://u:p@one.test/a", "https://u:p@one.test/b"),
        Case(["one.test": "two.test"], "https://u:p@one.test/a", "https://two.test/a"),
        Case(["one.test": "two.test"], "https://sub.one.test/", "https://sub.one.test/"),
        Case(["one.test": "two.test"], "not a URL", "not a URL"),
    ]

    @Test("A rule replaces host and path prefix, and keeps the rest", arguments: cases)
    func rewriting(_ example: Case) throws {
        let rewriting = try HTTPDNSClient.URLRewriting(example.rules)
        #expect(rewriting.rewritten(example.url) == example.sent)
    }

    @Test(
        "A rule that is no place is refused",
        arguments: [
            ["": "one.test"], ["one.test": ""], ["one.test?x": "two.test"], ["one.test": "two.test/#x"],
            ["u:p@one.test": "two.test"], ["ftp://one.test": "two.test"], ["one.test:99999": "two.test"],
            ["one_test": "two test"], ["one.test/a": "two.test", "ONE.test/a/": "new.test"],
            ["https://one.test": "a.test", "https://one.test:443/": "b.test"],
        ]
    )
    func refused(rules: [String: String]) async {
        let error = await clientError { try HTTPDNSClient.URLRewriting(rules) }
        #expect(error?.code == .configuration && error?.hint != nil, "\(String(describing: error))")
        #expect(error?.description.contains("u:p") == false)
    }

    @Test("The new host is resolved, named in TLS, and gets none of the old host's options")
    func sent() async throws {
        let rewriting = try HTTPDNSClient.URLRewriting(["old.test/a": "one.test/b"])
        let rig = try Rig { $0.applicationInterceptors = [rewriting] }
        _ = try await rig.client.get("https://old.test/a/x", headerFields: [.accept: "text/plain"]) {
            $0.hostHeader = "virtual.test"
            $0.addresses = .only(["203.0.113.99"])
            $0.maximumResponseBody = .bytes(100)
        }
        let sent = try #require(rig.wire.requests.first)
        #expect(sent.url.description == "https://one.test/b/x" && sent.hostHeader == nil)
        #expect(sent.endpoints.map(\.description) == ["203.0.113.1:443"])
        #expect(sent.headerFields[.accept] == "text/plain" && sent.limits.maximumResponseBytes == 100)
    }
}
