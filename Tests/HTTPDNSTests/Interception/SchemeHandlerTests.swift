// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct SchemeHandlerTests {
    private func rig(
        wire: ScriptedWire = ScriptedWire(),
        _ change: (inout HTTPDNSClient.Configuration) -> Void = { _ in }
    ) throws -> Rig {
        try Rig(wire: wire) { configuration in
            configuration.schemeHandlers["app"] = { request in
                let fields: HTTPFields = [.contentType: "text/plain", .accept: request.headerFields[.accept] ?? "-"]
                return HTTPDNSClient.Response(
                    head: HTTPResponse(status: .ok, headerFields: fields),
                    body: .bytes(Array("\(request.method) \(request.url)".utf8))
                )
            }
            configuration.schemeHandlers["moved"] = { _ in
                let fields: HTTPFields = [.location: "https://one.test/"]
                return HTTPDNSClient.Response(
                    head: HTTPResponse(status: .found, headerFields: fields),
                    body: .bytes([])
                )
            }
            change(&configuration)
        }
    }

    private func text(_ response: HTTPDNSClient.Response) async throws -> String {
        String(decoding: try await response.body.collect(upTo: .mebibytes(1)), as: UTF8.self)
    }

    @Test("A request is answered by the handler of its scheme", arguments: ["app://x/y?z#f", "APP:settings", "app:"])
    func answered(url: String) async throws {
        let rig = try rig {
            $0.cookies = .memory()
            $0.headers.fields = [.userAgent: "x"]
        }
        let response = try await rig.client.get(url, headerFields: [.accept: "text/css"])
        #expect(response.status == .ok && response.headerFields[.accept] == "text/css")
        #expect(try await text(response) == "GET \(url)")
        #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty && response.exchanges.isEmpty)
    }

    @Test("Interceptors run around a handler, and may lead to it")
    func intercepted() async throws {
        let journal = Journal<String>()
        let noting = Around.before { request in
            journal.write(request.url)
            if request.url.hasPrefix("https:") { request.url = "app:other" }
        }
        let rig = try rig {
            $0.applicationInterceptors = [noting]
            $0.networkInterceptors = [noting]
        }
        #expect(try await text(rig.client.get("https://one.test/")) == "GET app:other")
        #expect(journal.all == ["https://one.test/", "app:other"] && rig.wire.requests.isEmpty)
    }

    @Test(
        "A scheme without a handler is named in the error",
        arguments: [("data:x", "data"), ("ftp://one.test/", "ftp")]
    )
    func unknown(url: String, scheme: String) async throws {
        let rig = try rig()
        let error = await clientError { try await rig.client.get(url) }
        #expect(error?.code == .invalidURL && error?.message.contains("the scheme \(scheme)") == true)
        #expect(error?.message.contains("app, moved") == true)
        // A client without handlers knows http and https alone.
        let plain = try Rig().client
        let other = await clientError { try await plain.get(url) }
        #expect(other?.code == .invalidURL)
    }

    @Test(
        "A text without another scheme reaches no handler",
        arguments: ["https://one.test/", "one.test:8080/", "x"]
    )
    func others(url: String) async throws {
        let rig = try rig()
        let error = await clientError { try await rig.client.get(url) }
        #expect(error?.code == (url.hasPrefix("https") ? nil : .invalidURL))
        #expect(error?.message.contains("schemeHandlers") != true)
    }

    @Test("A redirect never leads to a handler", arguments: [false, true])
    func redirected(byHook: Bool) async throws {
        let wire = ScriptedWire(then: .status(.found, [.location: byHook ? "/next" : "app://x"]))
        let rig = try rig(wire: wire) { configuration in
            guard byHook else { return }
            configuration.redirectHook = { redirect in
                var next = redirect.next
                next.url = "app://x"
                return .change(next)
            }
        }
        let error = await clientError { try await rig.client.get("https://one.test/") }
        #expect(error?.code == .redirectRefused, "\(String(describing: error))")
        #expect(rig.wire.requests.count == 1)
    }

    @Test("A redirect of a handler is the response")
    func redirecting() async throws {
        let rig = try rig()
        #expect(try await rig.client.get("moved:x").status == .found)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("An error of a handler fails its call with interceptor-failed")
    func failing() async throws {
        struct Missing: Error {}
        let rig = try rig { $0.schemeHandlers["none"] = { _ in throw Missing() } }
        let error = await clientError { try await rig.client.get("none:") }
        #expect(error?.code == .interceptorFailed && error?.underlying is Missing)
    }

    @Test(
        "A handler of http, or of a text that is no scheme, is refused",
        arguments: ["HTTP", "https", "", "1x", "a b", "App"]
    )
    func refused(scheme: String) async {
        var configuration = HTTPDNSClient.Configuration()
        let handler: @Sendable (HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response = { _ in
            HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes([]))
        }
        configuration.schemeHandlers = ["app": handler]
        configuration.schemeHandlers[scheme] = handler
        let error = await clientError { try await HTTPDNSClient(configuration: configuration) }
        #expect(error?.code == .configuration && error?.message.contains("schemeHandlers") == true)
    }
}
