// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@Suite("Transport against nginx", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct TransportAgainstNginxTests {
    @Test("A pinned request has the name's Host, SNI and certificate check")
    func pinned() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        for address in ["127.0.0.2", "127.0.0.3"] {
            let target = "/echo?pinned-\(address)"
            let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)\(target)", at: address)
            let (response, _) = try await fixture.fetch(request)
            #expect(response.head.status == .ok && response.version == .http2)
            let line = try await rig.awaitAccessLog { $0.target == target }[0]
            #expect(line.address == address && line.sni == "one.test" && line.host == "one.test:\(rig.tlsPort)")
        }
    }

    @Test(
        "A hundred requests use one connection, over HTTP/1.1 and HTTP/2",
        arguments: [HTTPDNSTransfer.AllowedVersions.automatic, .http1Only]
    )
    func reuse(versions: HTTPDNSTransfer.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let target = "/health?reuse-\(versions)"
        for number in 0..<100 {
            let request = try TransportFixture.request(
                "https://one.test:\(rig.tlsPort)\(target)",
                at: "127.0.0.2",
                versions: versions
            )
            let (response, _) = try await fixture.fetch(request)
            #expect(response.reusedConnection == (number > 0))
            #expect((response.timings.tls == nil) == (number > 0))
            #expect(response.version == (versions == .automatic ? .http2 : .http11))
        }
        let lines = try await rig.awaitAccessLog(count: 100) { $0.target == target }
        #expect(Set(lines.map(\.connection)).count == 1)
    }

    @Test("Sixty-four concurrent requests on two addresses of one name never mix", arguments: [1, 2, 4])
    func twoAddresses(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile), loops: loops)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<256 {
                let address = "127.0.0.\(2 + number % 3)"
                let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)/health", at: address)
                group.addTask {
                    let body = try await fixture.fetch(request).body
                    #expect(body == Array("\(address)\n".utf8))
                }
                if number >= 64 { try await group.next() }
            }
            try await group.waitForAll()
        }
    }

    /// The error has the names that the certificate is for.
    @Test("A certificate that does not prove the name is refused, and nothing is sent")
    func wrongCertificate() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)/", at: "127.0.0.5")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .certificateRefused && failure.phase == .tls)
        #expect(failure.message == "certificate is for other.test")
        #expect(!failure.requestMayHaveBeenSent)
    }

    @Test("A certificate of an untrusted authority is refused")
    func untrusted() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.otherCertificateAuthorityFile))
        let request = try TransportFixture.request("https://one.test:\(rig.tlsPort)/", at: "127.0.0.2")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .certificateRefused)
        #expect(failure.message.contains("certificate"), "\(failure)")
    }

    @Test(
        "Long uploads arrive whole over HTTP/1.1 and HTTP/2, from memory and from streams",
        arguments: [HTTPDNSTransfer.AllowedVersions.automatic, .http1Only]
    )
    func uploads(versions: HTTPDNSTransfer.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let chunks = (0..<40).map { Array(repeating: UInt8($0), count: 100_000) }
        let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        let known = AsyncThrowingStream<[UInt8], any Error> { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        let bodies: [RequestBodySource] = [
            .bytes(Array(chunks.joined())), .stream(length: nil, stream), .stream(length: 4_000_000, known),
        ]
        for body in bodies {
            let request = try TransportFixture.request(
                "https://one.test:\(rig.tlsPort)/upload",
                at: "127.0.0.2",
                method: .post,
                body: body,
                versions: versions
            )
            #expect(try await fixture.fetch(request).body == Array("4000000\n".utf8))
        }
    }

    @Test(
        "Streams without a byte end, immediately and later, over HTTP/1.1 and HTTP/2",
        arguments: [HTTPDNSTransfer.AllowedVersions.automatic, .http1Only]
    )
    func emptyStreams(versions: HTTPDNSTransfer.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        for length in [nil, 0] as [Int64?] {
            for endsLater in [false, true] {
                let fed = HandFedStream()
                if !endsLater { fed.feed.finish() }
                let request = try TransportFixture.request(
                    "https://one.test:\(rig.tlsPort)/upload",
                    at: "127.0.0.2",
                    method: .post,
                    body: .stream(length: length, fed.stream),
                    versions: versions
                )
                async let body = fixture.fetch(request).body
                if endsLater {
                    // By then libcurl has asked in vain.
                    try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(50))
                    fed.feed.finish()
                }
                let text = String(decoding: try await body, as: UTF8.self)
                #expect(text == "0\n")
            }
        }
    }

    @Test(
        "Streams that pause often, several on a connection, arrive whole",
        arguments: [HTTPDNSTransfer.AllowedVersions.automatic, .http1Only]
    )
    func haltingStreams(versions: HTTPDNSTransfer.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let fed = HandFedStream()
                let request = try TransportFixture.request(
                    "https://one.test:\(rig.tlsPort)/upload",
                    at: "127.0.0.2",
                    method: .post,
                    body: .stream(length: number % 2 == 0 ? nil : 900_000, fed.stream),
                    versions: versions
                )
                group.addTask {
                    for part in 0..<30 {
                        fed.feed.yield(Array(repeating: 1, count: 30_000))
                        guard part % 3 == 0 else { continue }
                        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(number))
                    }
                    fed.feed.finish()
                }
                group.addTask {
                    let body = try await fixture.fetch(request).body
                    #expect(body == Array("900000\n".utf8))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("Byte counts are those of the wire and of the decoded body")
    func byteCounts() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture()
        let request = try TransportFixture.request("http://one.test:\(rig.httpPort)/gzip/text.txt", at: "127.0.0.2")
        let body = try #require(try await fixture.send(request).decodedBody)
        var count = 0
        for try await chunk in body { count += chunk.count }
        let summary = try #require(body.summary)
        #expect(summary.bodyBytes == count)
        #expect(summary.wireBytes > 0 && summary.wireBytes < summary.bodyBytes)
        #expect(try #require(summary.timings.total) > .zero)
    }

    /// Clear text needs none.
    @Test("Missing trust roots are reported at the first https request")
    func missingRoots() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file("/nowhere/ca.pem"))
        let clear = try TransportFixture.request("http://one.test:\(rig.httpPort)/health", at: "127.0.0.2")
        #expect(try await fixture.fetch(clear).response.head.status == .ok)
        let secure = try TransportFixture.request("https://one.test:\(rig.tlsPort)/health", at: "127.0.0.2")
        let failure = try #require(await fixture.failure(of: secure))
        #expect(failure.code == .trustRootsMissing && failure.message == "the CA file /nowhere/ca.pem cannot be read")
    }
}
