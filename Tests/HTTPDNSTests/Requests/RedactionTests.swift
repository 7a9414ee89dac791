// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// Values that hold secrets, printed in all the ways that Swift has.
struct RedactionTests {
    private static let canary = "c4narybird"

    /// Everything that a value shows of itself.
    private static func texts(of value: Any) -> String {
        var text = "\(value)" + String(describing: value) + String(reflecting: value)
        dump(value, to: &text)
        walk(Mirror(reflecting: value), depth: 0, into: &text)
        return text
    }

    private static func walk(_ mirror: Mirror, depth: Int, into text: inout String) {
        guard depth < 12 else { return }
        for child in mirror.children {
            text += "\(child.label ?? "") \(String(describing: child.value)) \(String(reflecting: child.value))"
            walk(Mirror(reflecting: child.value), depth: depth + 1, into: &text)
        }
        if let parent = mirror.superclassMirror { walk(parent, depth: depth + 1, into: &text) }
    }

    private static func expectSilence(_ value: Any, location: Testing.SourceLocation = #_sourceLocation) {
        let text = texts(of: value)
        let bytes = Array(canary.utf8).map(\.description).joined(separator: ", ")
        #expect(
            !text.contains(canary) && !text.contains(bytes),
            "\(type(of: value)): \(text)",
            sourceLocation: location
        )
    }

    private let fields: HTTPFields = [.authorization: "Bearer \(canary)", .cookie: "id=\(canary)"]
    private let url = "https://me:\(canary)@one.test/a?token=\(canary)#\(canary)"

    private var request: HTTPDNSClient.Request {
        var request = HTTPDNSClient.Request(method: .post, url: url, headerFields: fields, body: .text(Self.canary))
        request.changeOptions {
            let proxy = try? HTTPDNSClient.Proxy("http://me:\(Self.canary)@proxy.test:3128")
            $0.proxy = proxy.map { HTTPDNSClient.Proxy.Rules.through($0) } ?? .off
        }
        return request
    }

    @Test("The walk sees a canary that nothing hides")
    func control() {
        struct Open {
            var fields: HTTPFields
        }
        #expect(Self.texts(of: Open(fields: fields)).contains(Self.canary))
    }

    @Test("No request, option or body shows a secret")
    func requests() throws {
        Self.expectSilence(request)
        Self.expectSilence(request.options)
        Self.expectSilence(request.body)
        Self.expectSilence(HTTPDNSClient.Request.Body.form(["a": Self.canary]))
        Self.expectSilence([request])
        Self.expectSilence(HTTPDNSClient.RedirectPolicy.Decision.change(request))
        let redirect = HTTPDNSClient.RedirectPolicy.Redirect(
            request: request,
            response: HTTPResponse(status: .found, headerFields: [.setCookie: Self.canary]),
            next: request,
            number: 1,
            changesOrigin: true,
            droppedFields: []
        )
        Self.expectSilence(redirect)
        #expect("\(request)".hasPrefix("POST https://...@one.test/a, fields Authorization, Cookie, a body of 10 bytes"))
    }

    @Test(
        "A URL in an error, however broken, has no user information, query or fragment",
        arguments: [
            ("https://one.test/v1?email=a@b.test&token=S", "https://one.test/v1"),
            ("https://one.test/cb#access_token=S", "https://one.test/cb"),
            ("https://one.test/cb#m=a@b.test&S", "https://one.test/cb"),
            ("https://one.test/a?\u{301}S", "https://one.test/a"),
            ("https://one.test:99999/?m=a@b.test&S", "https://one.test:99999/"),
            ("https://[2001:db8::1]:8443/a?m=a@b.test&S", "https://[2001:db8::1]:8443/a"),
            ("https://one.test/users/@me", "https://...@me"), ("/a?m=a@b.test&S", "/a"),
            ("https://user:S@one.test/a?S", "https://...@one.test/a"),
            ("https://user:S@one.test/?m=a@b.test&S", "https://...@one.test/"),
            ("https://user:S?S@one.test/", "https://..."), ("https://user:S#S@one.test/", "https://..."),
            ("https://user:S/S?S@one.test/", "https://..."), ("https://S?S@one.test/", "https://..."),
            ("https://user:/S?S@one.test/", "https://..."), ("user:S?S@one.test", "..."),
            ("https://user:S@S?S@one.test/", "https://...@S"),
        ]
    )
    func urls(text: String, shown: String) { #expect(URLText.forErrors(text) == shown) }

    @Test("No setting and no client shows a secret")
    func settings() throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.headers = HTTPDNSClient.Configuration.DefaultHeaders(
            fields,
            byHost: [try HTTPDNSRoute.Pattern("*.test"): .init(fields)]
        )
        configuration.proxy = request.options.proxy
        configuration.resolver.providers = [
            try HTTPDNSDoHProvider(.init(name: "one", url: "https://192.0.2.1/dns-query"))
        ]
        Self.expectSilence(configuration)
        Self.expectSilence(configuration.headers)
        Self.expectSilence(HTTPDNSClient.Configuration.DefaultHeaders.HostHeaders(fields))
        let rig = try Rig { $0.headers = configuration.headers }
        Self.expectSilence(rig.client)
        #expect("\(configuration.headers)" == "fields Authorization, Cookie; *.test: fields Authorization, Cookie")
    }

    @Test("No URL, response or interceptor context shows a secret")
    func calls() async throws {
        Self.expectSilence(try ParsedURL("https://me:\(Self.canary)@one.test/"))
        Self.expectSilence(try HTTPDNSRewriter.Canonicalizer.canonicalize("https://me:\(Self.canary)@one.test/"))
        let contexts = Journal<String>()
        let wire = ScriptedWire { request, _ in
            .ok(from: request, fields: [.setCookie: Self.canary], chunks: [Array(Self.canary.utf8)])
        }
        let rig = try Rig(wire: wire) { configuration in
            configuration.networkInterceptors = [
                Around { request, context, next in
                    contexts.write(Self.texts(of: context))
                    return try await next(request, context)
                }
            ]
        }
        var request = request
        request.changeOptions { $0.proxy = .off }
        let response = try await rig.client.execute(request)
        Self.expectSilence(response)
        let exchange = try #require(response.exchanges.first)
        Self.expectSilence(exchange)
        Self.expectSilence(exchange.request)
        Self.expectSilence(try #require(exchange.request.tag))
        let collected = try await HTTPDNSClient.Response.Collected(response, upTo: .bytes(100))
        Self.expectSilence(collected)
        #expect("\(response)" == "200 OK, HTTP/1.1, fields Set-Cookie")
        #expect(contexts.all.count == 1 && !contexts.all.joined().contains(Self.canary))
    }
}
