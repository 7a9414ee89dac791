// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

/// The vendors' protocols, for the rules that all of them keep.
enum VendorProtocol: CaseIterable {
    case alibabaV1, alibabaV2, tencent
    #if Signing
    case tencentAES
    #endif

    private var version: HTTPDNSAlibabaProvider.Version? {
        switch self {
        case .alibabaV1: .v1
        case .alibabaV2: .v2
        default: nil
        }
    }

    private var access: ScriptedTencent.Access { ScriptedTencent.Access.allCases[self == .tencent ? 0 : 1] }

    /// An answer about www.example.com.
    func good() throws -> String {
        switch self {
        case .alibabaV1: AlibabaBody.v1
        case .alibabaV2: AlibabaBody.v2
        default: try TencentBody.written(TencentBody.both, access)
        }
    }

    func scripted(_ answer: @escaping ScriptedAlibaba.Answer) throws -> any ScriptedVendor {
        if let version { return try ScriptedAlibaba(version, answer) }
        return try ScriptedTencent(
            access,
            settings: { $0.bootstrap = [192, 193, 194].map { HTTPDNSAddress(v4: $0, 0, 2, 2) } },
            answer
        )
    }

    /// A provider with its own transport, for a server at a port of this machine.
    func provider(port: UInt16) throws -> any HTTPDNSProvider {
        if let version {
            var configuration = HTTPDNSAlibabaProvider.Configuration(
                name: "raw",
                version: version,
                credential: HTTPDNSVendorCredential(account: "123456")
            )
            configuration.url = "http://127.0.0.1:\(port)"
            configuration.discoversAddresses = false
            return try HTTPDNSAlibabaProvider(configuration)
        }
        var configuration = HTTPDNSTencentProvider.Configuration(
            name: "raw",
            credential: HTTPDNSVendorCredential(account: "100000", secret: HTTPDNSSecret { ScriptedTencent.token })
        )
        configuration.url = "http://127.0.0.1:\(port)"
        configuration.discoversAddresses = false
        return try HTTPDNSTencentProvider(configuration)
    }
}

struct VendorTests {
    @Test(
        "A rate limit has the service's Retry-After",
        arguments: VendorProtocol.allCases,
        [("30", Duration.seconds(30)), ("soon", nil)]
    )
    func rateLimit(vendor: VendorProtocol, _ row: (value: String, wait: Duration?)) async throws {
        let scripted = try vendor.scripted { $0.reply("", status: 429, fields: [.retryAfter: row.value]) }
        let error = try #require(try await scripted.error())
        #expect(error.code == .rateLimited && error.retryAfter == row.wait)
    }

    @Test("An address that fails or does not answer is skipped for five minutes", arguments: VendorProtocol.allCases)
    func failover(vendor: VendorProtocol) async throws {
        var failures: [ScriptedAlibaba.Answer] = [
            { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
            { _ in throw ScriptedVendorExchange.failure(.timedOut) },
            { _ in throw ScriptedVendorExchange.failure(.certificateRefused) },
            { $0.reply("", status: 502) },
        ]
        if vendor == .alibabaV1 || vendor == .alibabaV2 {
            failures += [{ $0.refusal("ServiceLevelDeny") }, { $0.refusal("InternalError", status: 500) }]
        }
        let good = try vendor.good()
        for failure in failures {
            let first = Lock<HTTPDNSEndpoint?>(nil)
            let scripted = try vendor.scripted { sent in
                let isFirst = first.withLock { first in
                    first = first ?? sent.endpoint
                    return first == sent.endpoint
                }
                return isFirst ? try await failure(sent) : sent.reply(good)
            }
            for _ in 0..<2 { #expect(try await scripted.error() == nil) }
            let asked = scripted.exchange.sent.map(\.endpoint)
            #expect(asked.count == 3 && asked[0] != asked[1] && asked[1] == asked[2])
        }
    }

    @Test("A batch answer with half of the names serves those; one with none fails", arguments: VendorProtocol.allCases)
    func halfABatch(vendor: VendorProtocol) async throws {
        // Version 1 answers a batch in another form.
        let good = vendor == .alibabaV1 ? #"{"dns":[\#(AlibabaBody.v1)]}"# : try vendor.good()
        let scripted = try vendor.scripted { $0.reply(good) }
        let answers = try await scripted.batch(["a.test", "www.example.com", "b.test"])
        #expect(answers.keys.map(\.description) == ["www.example.com"])
        await #expect(throws: HTTPDNSProviderError.self) { try await scripted.batch(["a.test", "b.test"]) }
    }

    /// The error has the content type, and repeats nothing of the page.
    @Test(
        "HTML instead of an answer is refused, and the error suggests a captive portal",
        arguments: VendorProtocol.allCases
    )
    func html(vendor: VendorProtocol) async throws {
        let page = "<html><script>alert(1)</script></html>"
        let scripted = try vendor.scripted { $0.reply(page, fields: [.contentType: "text/html"]) }
        let error = try #require(try await scripted.error())
        #expect(error.code == .badResponse && error.message.contains("text/html"))
        #expect(error.message.contains("captive portal") && !error.message.contains("script"))
    }
}

/// The providers over their own transport, against a server that says what no real one would.
struct VendorOverTheWireTests {
    static let vendors: [VendorProtocol] = [.alibabaV1, .alibabaV2, .tencent]

    private func error(
        _ vendor: VendorProtocol,
        _ steps: RawServer.Step...,
        timeLimit: Duration = .seconds(120)
    ) async throws -> HTTPDNSProviderError? {
        // Both families are one query of Tencent's.
        try await VendorWire.error(steps, vendor == .tencent ? .both : .v4, timeLimit: timeLimit, vendor.provider)
    }

    @Test("A request is one line with the parameters, and the answer is read")
    func exchange() async throws {
        let alibaba = try await VendorWire.request(answered: AlibabaBody.v2, VendorProtocol.alibabaV2.provider)
        #expect(alibaba.hasPrefix("GET /v2/d?id=123456&m=0&dn=www.example.com&q=4,6 HTTP/1.1\r\n"))
        let tencent = try await VendorWire.request(answered: TencentBody.both, VendorProtocol.tencent.provider)
        #expect(tencent.hasPrefix("GET /d?dn=www.example.com;"))
        #expect(tencent.contains("&token=800900&type=addrs&ttl=1&clientip=1&query=1 HTTP/1.1\r\n"))
    }

    @Test("The code in the body of a refusal is read")
    func refusal() async throws {
        let body = #"{"code":"InvalidAccount"}"#
        let error = try await error(.alibabaV2, .readHead, VendorWire.answer(body, status: "403 Forbidden"), .hang)
        #expect(error?.code == .accountRefused && error?.message.contains("InvalidAccount") == true)
    }

    @Test("10 MB body: given up after 64 KiB; a refusal that long is one by its status", arguments: vendors)
    func longBody(vendor: VendorProtocol) async throws {
        let chunk = RawServer.Step.sendText(String(repeating: vendor == .tencent ? "1" : " ", count: 64 * 1024))
        for (status, code, word) in [
            ("200 OK", HTTPDNSProviderError.Code.badResponse, "longer than an answer"),
            ("502 Bad Gateway", .httpStatus, "HTTP 502"),
        ] {
            let head = VendorWire.answer("", status: status, length: 10 * 1024 * 1024)
            let error = try await error(vendor, .readHead, head, .repeatForever([chunk]))
            #expect(error?.code == code && error?.message.contains(word) == true)
        }
    }

    /// Also where the bytes that arrived could be a whole answer.
    @Test("A body that breaks off or stalls is no answer", arguments: vendors)
    func broken(vendor: VendorProtocol) async throws {
        let good = try vendor.good()
        #expect(try await error(vendor, .readHead, VendorWire.answer(good, length: good.utf8.count + 1)) != nil)
        let start = VendorWire.answer(String(good.prefix(1)), length: 100)
        #expect(try await error(vendor, .readHead, start, .hang, timeLimit: .milliseconds(300))?.code == .timedOut)
        let redirect = RawServer.Step.respond(status: "302 Found", fields: "Location: http://127.0.0.1:1/\r\n")
        #expect(try await error(vendor, .readHead, redirect, .hang)?.code == .httpStatus)
    }

    @Test(
        "An error quotes nothing of the request, whatever the response repeats",
        arguments: [
            "HTTP/1.1 200 ECHO\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 403 ECHO\r\nContent-Type: ECHO\r\nContent-Length: 0\r\n\r\n",
            "ECHO\r\n\r\n", "HTTP/1.1 ECHO\r\n\r\n", "HTTP/9.9 200 ECHO\r\n\r\n", "HTTP/1.1 200 OK\r\nECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nECHO: ECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: ECHO\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: ECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nECHO\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Encoding: ECHO\r\nContent-Length: 4\r\n\r\nECHO",
            "HTTP/1.1 302 Found\r\nLocation: ECHO\r\nLocation: ECHO/x\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 429 ECHO\r\nRetry-After: ECHO\r\nContent-Length: 0\r\n\r\n",
        ]
    )
    func echoes(answer: String) async throws {
        let line = "GET /d?dn=www.example.com;&token=\(ScriptedTencent.token)&type=addrs"
        let text = answer.replacing("ECHO", with: line)
        let error = try await error(.tencent, .readHead, .sendText(text), .shutdownSending, .hang)
        let said = try #require(error.map { "\($0) \(String(reflecting: $0))" })
        for canary in [ScriptedTencent.token, "token=", "/d?", "dn=", "type=addrs"] {
            #expect(!said.contains(canary), "\(canary) in \(said)")
        }
    }
}

struct VendorCorpusTests {
    /// How many inputs a reader takes; each other one is an error of one line in ASCII.
    private func accepted(
        _ files: [(name: String, bytes: [UInt8])],
        _ isGood: ([UInt8]) throws(VendorAnswerError) -> Bool
    ) -> Int {
        files.count { name, octets in
            do throws(VendorAnswerError) {
                let isRight = try isGood(octets)
                #expect(isRight, "\(name)")
                return true
            } catch {
                #expect(error.description.utf8.allSatisfy { (0x20...0x7e).contains($0) }, "\(name)")
                return false
            }
        }
    }

    @Test("Any input gives answers about the queried names, or an error of one line")
    func corpus() throws {
        func question(_ names: [String]) throws -> VendorQuery {
            VendorQuery(hosts: try names.map { try HTTPDNSName($0) }, families: .both)
        }
        let alibaba = try question(["www.example.com", "img.example.com", "none.example.com", "a.test"])
        var files = try Repository.corpus("alibaba")
        let v1 = accepted(files) { octets throws(VendorAnswerError) in
            Set(try AlibabaV1Answer.read(octets, question: alibaba).keys).isSubset(of: alibaba.hosts)
        }
        let v2 = accepted(files) { octets throws(VendorAnswerError) in
            Set(try AlibabaV2Answer.read(octets, question: alibaba, payload: nil).keys).isSubset(of: alibaba.hosts)
        }
        #expect(v1 >= 3 && v2 >= 5 && files.count > v1 + v2)

        let tencent = try question(["www.example.com", "a.example.com", "b.example.com", "c.example.com"])
        files = try Repository.corpus("tencent")
        let answers = accepted(files) { octets throws(VendorAnswerError) in
            Set(try TencentAnswer.read(octets, question: tencent).keys).isSubset(of: tencent.hosts)
        }
        let lists = accepted(files) { octets throws(VendorAnswerError) in
            try TencentServiceList.read(octets, port: 443).endpoints.allSatisfy { $0.address.family == .v4 }
        }
        #expect(answers >= 5 && lists >= 2 && files.count > answers + lists)
    }
}
