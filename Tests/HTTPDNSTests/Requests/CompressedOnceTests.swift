// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import Testing

@testable import HTTPDNS

/// How often a body in memory is compressed, told by where its bytes are: compressed twice they would be in two places.
struct CompressedOnceTests {
    private static let body = HTTPDNSClient.Request.Body.text("sent more than once").compressed()

    /// Where the bytes are that the wire was given.
    private func places(_ rig: Rig) -> [UnsafeRawPointer?] {
        rig.wire.requests.map { request in
            guard case .bytes(let bytes) = request.body else { return nil }
            return bytes.withUnsafeBytes { $0.baseAddress }
        }
    }

    private func failing(_ code: TransferFailure.Code) -> TransferFailure {
        TransferFailure(code: code, phase: .connect, message: "no connection")
    }

    @Test("A body is compressed once for all addresses of a proxy that are tried")
    func egressAttempts() async throws {
        let wire = ScriptedWire { request, number in
            if number < 2 { throw failing(.proxyUnreachable) }
            return .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.resolver.mappings[try HTTPDNSMapping.Key("proxy.test")] = .addresses([
                "203.0.113.7", "203.0.113.8", "203.0.113.9",
            ])
            var proxy = try HTTPDNSClient.Proxy("http://proxy.test:3128")
            proxy.resolvesLocally = true
            $0.proxy = .through(proxy)
        }
        _ = try await rig.client.post("http://one.test/", body: Self.body)
        let places = places(rig)
        #expect(places.count == 3 && Set(places).count == 1 && places[0] != nil)
    }

    /// None of the provider's could be connected to.
    @Test("A body is compressed once for the system's addresses after a provider's")
    func fallback() async throws {
        let wire = ScriptedWire(.failure(failing(.connectFailed)))
        let rig = try Rig(wire: wire) {
            $0.resolver.routes = [HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .system))]
        }
        rig.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 51)]), for: try HTTPDNSName("one.test"))
        _ = try await rig.client.post("https://one.test/", body: Self.body)
        let places = places(rig)
        #expect(places.count == 2 && Set(places).count == 1 && places[0] != nil)
    }

    @Test("A body is compressed once for retries and redirects that send it again")
    func again() async throws {
        let wire = ScriptedWire(.status(.serviceUnavailable), .redirect(307, to: "https://two.test/again"))
        var retries = HTTPDNSClient.RetryPolicy()
        retries.delay = .zero
        let rig = try Rig(wire: wire) { [retries] in $0.retries = retries }
        _ = try await rig.client.execute(HTTPDNSClient.Request(method: .put, url: "https://one.test/", body: Self.body))
        let places = places(rig)
        #expect(places.count == 3 && Set(places).count == 1 && places[0] != nil)
    }

    @Test("A body is compressed once for interceptors that send it twice or ask on each hop", arguments: [true, false])
    func intercepted(isApplication: Bool) async throws {
        let twice = Around { request, context, next in
            _ = try await next(request, context)
            return try await next(request, context)
        }
        let compressing = Around.before { $0.body = $0.body.compressed() }
        let wire = ScriptedWire { request, number in
            number % 2 == 0 ? .redirect(307, to: "https://two.test/\(number)", from: request) : .ok(from: request)
        }
        let rig = try Rig(wire: wire) {
            $0.applicationInterceptors = isApplication ? [twice, compressing] : []
            $0.networkInterceptors = isApplication ? [] : [compressing]
        }
        _ = try await rig.client.post("https://one.test/", body: .text("plain"))
        let places = places(rig)
        #expect(places.count == (isApplication ? 4 : 2) && Set(places).count == 1 && places[0] != nil)
    }

    @Test("A kept result is used only for the same body and the same coding")
    func others() async throws {
        let bodies = [
            HTTPDNSClient.Request.Body.text("one").compressed(), .text("two").compressed(),
            .text("two").compressed(.deflate),
        ]
        let each = Around { request, context, next in
            var request = request
            for body in bodies.dropLast() {
                request.body = body
                _ = try await next(request, context)
            }
            request.body = bodies[2]
            return try await next(request, context)
        }
        let rig = try Rig { $0.applicationInterceptors = [each] }
        _ = try await rig.client.post("https://one.test/", body: .none)
        let sent = rig.wire.requests.map { request -> [UInt8] in
            if case .bytes(let bytes) = request.body { bytes } else { [] }
        }
        var expected: [[UInt8]] = []
        for (text, coding) in [("one", HTTPDNSClient.ContentCoding.gzip), ("two", .gzip), ("two", .deflate)] {
            expected.append(try await coding.compressed(Array(text.utf8)))
        }
        #expect(sent == expected)
    }

    @Test("A kept result is released with the response head of the call")
    func letGo() async throws {
        weak let kept: CompressedOnce?
        let rig: Rig
        do {
            let seen = Lock<CompressedOnce?>(nil)
            rig = try Rig {
                $0.applicationInterceptors = [
                    Around { request, context, next in
                        seen.withLock { $0 = context.compressed }
                        return try await next(request, context)
                    }
                ]
            }
            let response = try await rig.client.post("https://one.test/", body: Self.body)
            kept = seen.withLock { $0.take() }
            #expect(response.status == .ok)
        }
        #expect(rig.wire.requests.count == 1 && kept == nil)
    }
}
