// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import Testing

@testable import HTTPDNS

struct RequestCheckTests {
    @Test(
        "Fields that the client sets are refused before anything is asked or sent",
        arguments: [
            "Host", "hOST", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Proxy-Connection",
            "Upgrade", "Trailer", "Proxy-Authorization", "proxy-AUTHORIZATION",
        ]
    )
    func refusedFields(name: String) async throws {
        let rig = try Rig()
        let field = try #require(HTTPField.Name(name))
        let error = await clientError { try await rig.client.get("https://one.test/", headerFields: [field: "1"]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.lowercased().contains(name.lowercased()) == true)
        #expect(error?.hint != nil)
        #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty)
    }

    /// The login comes from the defaults, from computed fields or from a hook.
    @Test("A proxy's login is refused wherever it is added, and never shown")
    func proxyLogin() async throws {
        let field = try #require(HTTPField.Name("Proxy-Authorization"))
        let fields: HTTPFields = [field: "Basic hunter2"]
        #expect(throws: HTTPDNSClientError.self) { try HTTPDNSClient.Configuration.DefaultHeaders(fields).validate() }
        let computed = try Rig { $0.computedHeaders = { _ in fields } }
        let added = await clientError { try await computed.client.get("https://one.test/") }
        let hooked = try Rig(wire: ScriptedWire { request, _ in .redirect(307, to: "/b", from: request) }) {
            $0.redirectHook = { redirect in
                var next = redirect.next
                next.headerFields[field] = "Basic hunter2"
                return .change(next)
            }
        }
        let changed = await clientError { try await hooked.client.get("https://one.test/") }
        for error in [added, changed] {
            #expect(error?.code == .invalidRequest && error?.hint?.contains("Proxy.credential") == true)
            #expect(error.map { "\($0)".contains("hunter2") } == false)
        }
        #expect(computed.wire.requests.isEmpty && hooked.wire.requests.count == 1)
    }

    @Test("Fields with other names pass, whatever their length")
    func allowedFields() async throws {
        let rig = try Rig()
        let fields: HTTPFields = [.accept: "*/*", .date: "x", .cookie: "a=b", .contentType: "text/plain"]
        _ = try await rig.client.get("https://one.test/", headerFields: fields)
        #expect(rig.wire.requests.first?.headerFields == fields)
    }

    @Test(
        "A request's own policies are checked as the client's are",
        arguments: [
            {
                $0.redirects = .init(); $0.redirects.limit = -1
            },
            {
                $0.redirects = .init(); $0.redirects.limit = 101
            },
            {
                $0.retries = .standard; $0.retries.limit = 101
            },
            {
                $0.retries = .standard; $0.retries.delay = .seconds(-1)
            },
        ] as [@Sendable (inout HTTPDNSClient.Request.Options) -> Void]
    )
    func policies(change: @escaping @Sendable (inout HTTPDNSClient.Request.Options) -> Void) async throws {
        let rig = try Rig()
        let error = await clientError { try await rig.client.get("https://one.test/", change) }
        #expect(error?.code == .invalidRequest && error?.phase == .request && error?.hint != nil)
        #expect(error?.message.contains("the request's own re") == true)
        #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty)
        let response = try await rig.client.get("https://one.test/") {
            $0.redirects = .off
            $0.retries = .standard
        }
        #expect(response.status == .ok)
    }

    @Test("CONNECT is refused")
    func connect() async throws {
        let rig = try Rig()
        let error = await clientError {
            try await rig.client.execute(HTTPDNSClient.Request(method: .connect, url: "https://one.test/"))
        }
        #expect(error?.code == .invalidRequest)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test(
        "A hostHeader that is no host is refused",
        arguments: ["", "a b", "a\r\nX: y", "a\0", "a/b", "user@a", "a?b", "a#b", "a\\b", "bücher.test", "a,b"]
    )
    func hostHeader(text: String) async throws {
        let rig = try Rig()
        let error = await clientError { try await rig.client.get("https://one.test/") { $0.hostHeader = text } }
        #expect(error?.code == .invalidRequest)
        #expect(error?.description.contains { $0.isNewline } == false)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test(
        "A request's own addresses may have ports",
        arguments: [
            ("1.2.3.4", "1.2.3.4:443"), ("1.2.3.4:8443", "1.2.3.4:8443"), ("2001:db8::9", "[2001:db8::9]:443"),
            ("[2001:db8::9]", "[2001:db8::9]:443"), ("[2001:db8::9]:8443", "[2001:db8::9]:8443"),
            ("::1", "[::1]:443"), ("[::1]:1", "[::1]:1"),
        ]
    )
    func connectTo(text: String, endpoint: String) async throws {
        let rig = try Rig()
        let response = try await rig.client.get("https://one.test/") { $0.addresses = .only([.init(text)]) }
        #expect(rig.wire.requests.first?.endpoints.map(\.description) == [endpoint])
        #expect(rig.provider.queries.isEmpty)
        #expect(response.exchanges.first?.request.source == .request)
        #expect(response.exchanges.first?.resolve == nil)
    }

    @Test(
        "A target that is no address fails the call, and says what is allowed",
        arguments: [
            "", "two.test", "1.2.3", "1.2.3.4:0", "1.2.3.4:65536", "01.2.3.4", "[1.2.3.4]", "::1%lo", "1.2.3.4/24",
        ]
    )
    func badPins(text: String) async throws {
        let rig = try Rig()
        let error = await clientError {
            try await rig.client.get("https://one.test/") { $0.addresses = .only(["1.2.3.4", .init(text)]) }
        }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("\"\(text)\"") == true)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A literal that is no address fails the call instead of the program")
    func badLiteral() async throws {
        let rig = try Rig()
        let error = await clientError {
            try await rig.client.get("https://one.test/") { $0.addresses = .only(["two.test"]) }
        }
        #expect(error?.code == .invalidRequest && error?.hint?.contains("203.0.113.9") == true)
        #expect(error?.message.hasPrefix("the request's addresses: \"two.test\" is not an address: ") == true)
        let resolving = await clientError {
            try await rig.client.resolve("one.test") { $0.addresses = .only(["203.0.113.9", "203.0.113.9:0"]) }
        }
        #expect(resolving?.code == .invalidRequest && resolving?.message.contains("203.0.113.9:0") == true)
        #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty)
    }

    @Test("Without targets a call is automatic, and an empty list of them is refused")
    func noTargets() async throws {
        let rig = try Rig()
        let response = try await rig.client.get("https://one.test/")
        #expect(response.exchanges.first?.request.source == .provider)
        let error = await clientError { try await rig.client.get("https://one.test/") { $0.addresses = .only([]) } }
        #expect(error?.code == .invalidRequest && error?.hint != nil && rig.wire.requests.count == 1)
    }

    @Test("Targets and their source print as text")
    func targetText() {
        typealias Target = HTTPDNSClient.Request.Target
        let address = HTTPDNSAddress(v4: 203, 0, 113, 9)
        #expect(Target(address) == "203.0.113.9" && Target(address, port: 8443) == "203.0.113.9:8443")
        #expect(Target("[2001:db8::9]") == "2001:db8::9" && Target("203.0.113.9:443") != "203.0.113.9")
        #expect("\(Target("[2001:db8::9]:8443"))" == "[2001:db8::9]:8443" && "\(Target("a\n"))" == "a\\n")
        let texts = ["203.0.113.9"]
        #expect(texts.map(Target.init(_:)) == [Target(address)])
        typealias Addresses = HTTPDNSClient.Request.Options.Addresses
        #expect("\(Addresses.automatic) \(Addresses.system)" == "automatic system")
        #expect("\(Addresses.only(["203.0.113.9", "::1"]))" == "203.0.113.9, ::1")
    }

    @Test(
        "User information becomes a Basic credential",
        arguments: [
            ("Aladdin:open%20sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("a:", "YTo="), ("ab:c", "YWI6Yw=="),
            ("a:%C3%A4", "YTrDpA=="), (":b", "OmI="),
        ]
    )
    func credential(information: String, encoded: String) async throws {
        let rig = try Rig()
        let response = try await rig.client.get("https://\(information)@one.test/x?y#z")
        let sent = try #require(rig.wire.requests.first)
        #expect(sent.headerFields[.authorization] == "Basic \(encoded)")
        #expect(sent.headerFields[fields: .authorization].first?.indexingStrategy == .disallow)
        #expect(sent.url.description == "https://one.test/x?y")
        #expect(response.exchanges.first?.request.originalURL == "https://one.test/x?y#z")
    }

    @Test("An Authorization field of the caller's own wins over user information")
    func authorizationWins() async throws {
        let rig = try Rig()
        _ = try await rig.client.get("https://a:b@one.test/", headerFields: [.authorization: "Bearer t"])
        #expect(rig.wire.requests.first?.headerFields[values: .authorization] == ["Bearer t"])
    }

    @Test(
        "User information that Basic cannot carry is refused without being shown",
        arguments: ["us%3Aer:secret", "user:secret%0d%0a"]
    )
    func impossibleCredential(information: String) async throws {
        let rig = try Rig()
        let error = await clientError { try await rig.client.get("https://\(information)@one.test/") }
        #expect(error?.code == .invalidURL)
        #expect(error?.description.contains("secret") == false)
        // What cannot be sent is not worth a question, and the stage alone says the same.
        #expect(
            await clientError { try await rig.client.rewrite("https://\(information)@one.test/") }?.code == .invalidURL
        )
        #expect(rig.provider.queries.isEmpty && rig.wire.requests.isEmpty)
    }
}
