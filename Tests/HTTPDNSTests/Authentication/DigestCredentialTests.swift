// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

#if Digest
/// Digest as a sequence of requests.
struct DigestCredentialTests {
    private static let url = "https://map.test/a"

    private func rig(
        _ wire: ScriptedWire,
        _ change: (inout HTTPDNSClient.Configuration) -> Void = { _ in }
    ) throws -> Rig {
        let origin = try #require(HTTPDNSClient.Origin(Self.url))
        return try Rig(wire: wire) {
            $0.credentials = [origin: .digest(user: "me", password: HTTPDNSSecret { "pw" })]
            change(&$0)
        }
    }

    private static func challenge(_ request: TransferRequest, _ nonce: String, _ rest: String = "qop=\"auth\"")
        -> HopAnswer
    {
        .ok(
            from: request,
            status: .unauthorized,
            fields: [.wwwAuthenticate: "Digest realm=\"r\", nonce=\"\(nonce)\", \(rest)"]
        )
    }

    /// The parameters of the request's field, with its scheme removed.
    private static func parameters(
        _ request: TransferRequest,
        _ name: HTTPField.Name = .authorization
    ) -> [String: String] {
        AuthenticationChallenge.information(
            in: Array((request.headerFields[name] ?? "").utf8.dropFirst("Digest ".count))
        ).mapValues { String(decoding: $0, as: UTF8.self) }
    }

    @Test("Later requests count the uses of a nonce, without another challenge")
    func preemptive() async throws {
        let wire = ScriptedWire { request, _ in
            request.headerFields.contains(.authorization) ? .ok(from: request) : Self.challenge(request, "n")
        }
        let rig = try rig(wire)
        for expected in [2, 1, 1] {
            #expect(try await rig.client.get(Self.url).exchanges.count == expected)
        }
        #expect(
            wire.requests.map { Self.parameters($0)["nc"] } == [nil, "00000001", "00000002", "00000003"]
        )
        #expect(Set(wire.requests.dropFirst().map { Self.parameters($0)["cnonce"] }).count == 3)
    }

    @Test("A stale nonce is answered once with the new one")
    func stale() async throws {
        let wire = ScriptedWire { request, number in
            switch Self.parameters(request)["nonce"] {
            case "two": .ok(from: request)
            case "one" where number > 1: Self.challenge(request, "two", "qop=\"auth\", stale=true")
            case "one": .ok(from: request)
            default: Self.challenge(request, "one")
            }
        }
        let rig = try rig(wire)
        #expect(try await rig.client.get(Self.url).exchanges.count == 2)
        let response = try await rig.client.get(Self.url)
        #expect(response.status == .ok && response.exchanges.map(\.status.code) == [401, 200])
        #expect(Self.parameters(wire.requests[3])["nc"] == "00000001")
    }

    @Test("A server whose nonces are always stale is asked three times")
    func alwaysStale() async throws {
        let wire = ScriptedWire { request, number in Self.challenge(request, "n\(number)", "qop=auth, stale=true") }
        let rig = try rig(wire)
        #expect(try await rig.client.get(Self.url).status == .unauthorized)
        #expect(wire.requests.count == 3)
    }

    @Test("A wrong password is sent once, whatever nonces the server sends")
    func wrongPassword() async throws {
        let wire = ScriptedWire { request, number in Self.challenge(request, "n\(number)") }
        let rig = try rig(wire)
        #expect(try await rig.client.get(Self.url).exchanges.count == 2)
        // Nothing is kept of the refused nonce.
        #expect(try await rig.client.get(Self.url).exchanges.count == 2)
        #expect(wire.requests[2].headerFields[.authorization] == nil)
    }

    /// The server's proof is the hash of an empty method, the target and the rest of the request's own texts.
    private static func proof(of request: TransferRequest) -> String {
        let sent = parameters(request)
        let credential = DigestHash.of("me:r:pw", .md5)
        let message = DigestHash.of(":/a", .md5)
        let text = "\(credential):\(sent["nonce"] ?? ""):\(sent["nc"] ?? ""):\(sent["cnonce"] ?? ""):auth:\(message)"
        return DigestHash.of(text, .md5)
    }

    @Test("A right proof of the server is accepted, and a wrong one is an error")
    func serverProof() async throws {
        for isRight in [true, false] {
            let name = try #require(HTTPField.Name("Authentication-Info"))
            let wire = ScriptedWire { request, _ in
                guard request.headerFields.contains(.authorization) else { return Self.challenge(request, "n") }
                let proof = isRight ? Self.proof(of: request) : String(repeating: "0", count: 32)
                return .ok(from: request, fields: [name: "rspauth=\"\(proof)\", qop=auth, nextnonce=\"m\""])
            }
            let rig = try rig(wire)
            if isRight {
                #expect(try await rig.client.get(Self.url).status == .ok)
                #expect(try await rig.client.get(Self.url).status == .ok)
                #expect(wire.requests.map { Self.parameters($0)["nonce"] } == [nil, "n", "m"])
            } else {
                let error = await clientError { try await rig.client.get(Self.url) }
                #expect(error?.code == .authenticationFailed && error?.requestMayHaveBeenSent == true)
                #expect(error?.message.contains("rspauth") == true)
            }
        }
    }

    @Test("A retry has a count of its own, and its proof is checked")
    func retries() async throws {
        let name = try #require(HTTPField.Name("Authentication-Info"))
        let wire = ScriptedWire { request, number in
            guard request.headerFields.contains(.authorization) else { return Self.challenge(request, "n") }
            if number < 3 { return .ok(from: request, status: .serviceUnavailable) }
            return .ok(from: request, fields: [name: "rspauth=\"\(Self.proof(of: request))\", qop=auth"])
        }
        let rig = try rig(wire) {
            $0.retries = .standard
            ($0.retries.limit, $0.retries.delay) = (2, .zero)
        }
        let response = try await rig.client.get(Self.url)
        #expect(response.exchanges.map(\.status.code) == [401, 503, 503, 200])
        #expect(wire.requests.map { Self.parameters($0)["nc"] } == [nil, "00000001", "00000002", "00000003"])
        #expect(Set(wire.requests.dropFirst().map { Self.parameters($0)["cnonce"] }).count == 3)
        #expect(wire.requests.allSatisfy { $0.headerFields[fields: .authorization].count <= 1 })
    }

    @Test("A request with a count is not hedged")
    func hedges() async throws {
        let wire = ScriptedWire { request, _ in
            request.headerFields.contains(.authorization) ? .ok(from: request) : Self.challenge(request, "n")
        }
        let rig = try rig(wire) { $0.connections.hedgeAfter = .seconds(1) }
        #expect(try await rig.client.get(Self.url).status == .ok)
        #expect(wire.requests.map { $0.hedgeAfter != nil } == [true, false])
    }

    @Test(
        "The challenge to a stream is returned, and the next request uses its nonce",
        arguments: ["auth", "auth-int"]
    )
    func spentStream(protection: String) async throws {
        let wire = ScriptedWire { request, _ in
            if case .stream(_, let chunks) = request.body { for try await _ in chunks {} }
            return request.headerFields.contains(.authorization)
                ? .ok(from: request) : Self.challenge(request, "n", "qop=\"\(protection)\"")
        }
        let rig = try rig(wire)
        let refused = try await rig.client.post(Self.url, body: .stream(Chunks([[1]])))
        #expect(refused.exchanges.map(\.status.code) == [401])
        // auth-int needs a body that can be read twice.
        let body = protection == "auth" ? HTTPDNSClient.Request.Body.stream(Chunks([[1]])) : .bytes([1])
        let next = try await rig.client.post(Self.url, body: body)
        #expect(next.exchanges.map(\.status.code) == [200])
        #expect(wire.requests.map { Self.parameters($0)["nc"] } == [nil, "00000001"])
    }

    @Test("A proxy that refuses a stream gives an error, and its nonce is used next")
    func spentStreamAtProxy() async throws {
        let wire = ScriptedWire { request, _ in
            if case .stream(_, let chunks) = request.body { for try await _ in chunks {} }
            if request.headerFields.contains(.proxyAuthorization) { return .ok(from: request) }
            let challenge = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""
            return .ok(from: request, status: .proxyAuthenticationRequired, fields: [.proxyAuthenticate: challenge])
        }
        var proxy = try HTTPDNSClient.Proxy("http://203.0.113.9:3128")
        var credential = HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { "pw" })
        credential.scheme = .digest
        proxy.credential = credential
        let rig = try rig(wire) { $0.proxy = .through(proxy) }
        let url = "http://map.test/a"
        let refused = await clientError { try await rig.client.post(url, body: .stream(Chunks([[1]]))) }
        #expect(refused?.code == .proxyLoginRefused)
        #expect(try await rig.client.post(url, body: .stream(Chunks([[1]]))).status == .ok)
        #expect(wire.requests.map { Self.parameters($0, .proxyAuthorization)["nc"] } == [nil, "00000001"])
    }

    @Test("A body is hashed for auth-int, and a stream is not read for it")
    func bodyHash() async throws {
        let wire = ScriptedWire { request, _ in
            request.headerFields.contains(.authorization)
                ? .ok(from: request) : Self.challenge(request, "n", "qop=\"auth-int\"")
        }
        let rig = try rig(wire)
        let bytes = try await rig.client.post(Self.url, body: .bytes(Array("hello".utf8)))
        #expect(bytes.status == .ok)
        let sent = Self.parameters(wire.requests[1])
        let (credential, hash) = (DigestHash.of("me:r:pw", .md5), DigestHash.of("hello", .md5))
        let message = DigestHash.of("POST:/a:\(hash)", .md5)
        let text = "\(credential):n:00000001:\(sent["cnonce"] ?? ""):auth-int:\(message)"
        #expect(sent["response"] == DigestHash.of(text, .md5))
        let stream = HTTPDNSClient.Request.Body.stream(Chunks([[1]]))
        let refused = try await rig.client.post(Self.url, body: stream)
        #expect(refused.status == .unauthorized && refused.exchanges.count == 1)
    }
}
#endif
