// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

@Suite(
    "The order of the interceptors and the client as a whole",
    .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
)
struct OrderOverTheWireTests {
    /// Two application and two network interceptors.
    @Test("Interceptors run outermost first on the way out, and in reverse on the way back")
    func order() async throws {
        let rig = try await ServerRig.shared()
        let journal = Journal<String>()
        var configuration = try rig.settings()
        configuration.redirects = .off
        configuration.applicationInterceptors =
            [.recorder("A1", journal), .followingRedirects, .recorder("A2", journal)]
            as [Around]
        configuration.networkInterceptors = [Around.recorder("N1", journal), Around.recorder("N2", journal)]
        let second = "https://two.test:\(rig.tlsPort)/echo"
        let first = "https://one.test:\(rig.tlsPort)/redirect/302?to=\(second)"
        let failing = "https://gone.one.test/"
        try await withClient(configuration) { client in
            let echo = try await Echo(try await client.get(first))
            #expect(echo.sni == "two.test")
            #expect(
                journal.all == [
                    "A1 > \(first)", "A2 > \(first)", "N1 > \(first)", "N2 > \(first)", "N2 < 302", "N1 < 302",
                    "A2 < 302",
                    "A2 > \(second)", "N1 > \(second)", "N2 > \(second)", "N2 < 200", "N1 < 200", "A2 < 200",
                    "A1 < 200",
                ]
            )
            let seen = journal.all.count
            let error = try await refusal { _ = try await client.get(failing) }
            #expect(error.code == .resolveFailed)
            #expect(
                Array(journal.all.dropFirst(seen)) == [
                    "A1 > \(failing)", "A2 > \(failing)", "N1 > \(failing)", "N2 > \(failing)", "N2 ! resolve-failed",
                    "N1 ! resolve-failed", "A2 ! resolve-failed", "A1 ! resolve-failed",
                ]
            )
        }
    }

    @Test("Changes that interceptors make reach the origin and the caller")
    func changes() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        func stage(_ name: String) throws -> Around {
            let field = try #require(HTTPField.Name("x-seen"))
            return Around { request, context, next in
                var request = request
                request.headerFields[field] = (request.headerFields[field] ?? "") + name
                var response = try await next(request, context)
                response.head.headerFields[field] = (response.head.headerFields[field] ?? "") + name
                return response
            }
        }
        configuration.applicationInterceptors = [try stage("a"), try stage("b")]
        configuration.networkInterceptors = [try stage("c"), try stage("d")]
        try await withClient(configuration) { client in
            let response = try await client.get("https://one.test:\(rig.tlsPort)/echo")
            #expect(response.headerFields[try #require(HTTPField.Name("x-seen"))] == "dcba")
            #expect(try await Echo(response).headers["x-seen"] == .one("abcd"))
        }
    }

    /// A long body, a bomb, a body of unknown length.
    @Test("The limit of a response body holds on the wire", arguments: [true, false])
    func responseLimits(isHTTP2: Bool) async throws {
        let rig = try await ServerRig.shared()
        let origin = "https://one.test:\(isHTTP2 ? rig.tlsPort : rig.http1Port)"
        var configuration = try rig.settings()
        configuration.maximumResponseBody = .kibibytes(64)
        try await withClient(configuration) { client in
            for path in ["1m.bin", "bomb", "100m.bin", "gzip/1m.bin"] {
                let error = try await refusal {
                    for try await _ in try await client.get("\(origin)/\(path)").body {}
                }
                #expect(error.code == .responseTooLarge && error.host == "one.test", "\(path): \(error)")
                #expect("\(error)".contains("64 KiB") || "\(error)".contains("65"), "\(path): \(error)")
            }
            // Exactly at the limit is inside it, and the client goes on.
            let url = "\(origin)/1k.bin"
            let whole = try await client.get(url) { $0.maximumResponseBody = .bytes(1024) }
            #expect(try await whole.body.collect(upTo: .bytes(1024)).count == 1024)
            let short = try await refusal { try await client.get(url) { $0.maximumResponseBody = .bytes(1023) }.text() }
            #expect(short.code == .responseTooLarge, "\(short)")
            let collected = try await refusal { _ = try await client.get(url).body.collect(upTo: .bytes(1023)) }
            #expect(collected.code == .responseTooLarge, "\(collected)")
        }
    }

    @Test("64 concurrent clients each do their work and end")
    func manyClients() async throws {
        let rig = try await ServerRig.shared()
        let url = "https://many-clients.wild.test:\(rig.tlsPort)/1k.bin"
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    var bytes = 0
                    try await withClient(try rig.settings()) { client in
                        for _ in 0..<4 { bytes += try await client.get(url).body.collect(upTo: .kibibytes(1)).count }
                    }
                    return bytes
                }
            }
            for try await bytes in group { #expect(bytes == 4096) }
        }
    }

    @Test("A shutdown under load ends every call, with its response or an error of its own", arguments: [0, 20, 5_000])
    func shutdownUnderLoad(milliseconds: Int) async throws {
        let rig = try await ServerRig.shared()
        let client = try await HTTPDNSClient(configuration: rig.settings())
        let answered = Gate()
        let outcomes = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<64 {
                group.addTask {
                    do {
                        while true {
                            let host = number.isMultiple(of: 3) ? "load-\(number).wild.test" : "one.test"
                            let path = number.isMultiple(of: 2) ? "text.txt" : "drip?count=3&every=0.01"
                            let response = try await client.get("https://\(host):\(rig.tlsPort)/\(path)")
                            for try await _ in response.body {}
                            answered.open()
                        }
                    } catch let error as HTTPDNSClientError {
                        return "\(error.code)"
                    }
                }
            }
            await answered.passage()
            try await client.shutdown(drainingFor: .milliseconds(milliseconds))
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(outcomes == ["shut-down": 64])
        let late = try await refusal { _ = try await client.get("https://one.test:\(rig.tlsPort)/") }
        #expect(late.code == .shutDown)
        try await client.shutdown()
    }
}
