// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Public-key pins.
@Suite("Client certificates and pins, over the wire", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl])))
struct ClientCertificateTests {
    /// What the server answers, and whom it saw.
    private func ask(_ configuration: HTTPDNSClient.Configuration, _ target: String) async throws -> (Int, String) {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        var status = 0
        try await withClient(configuration) { client in
            let response = try await client.get(rig.tenantURL(target))
            status = response.status.code
            try await response.text()
        }
        let lines = try await rig.awaitAccessLog(since: mark) { $0.target == target }
        return (status, lines[0].clientSubject)
    }

    /// The status is 200 with the certificate, 400 without it, and 400 with another
    /// authority's.
    @Test("A server that asks for a client certificate accepts the right one alone")
    func shown() async throws {
        let rig = try await ServerRig.shared()
        let with = try await ask(rig.tenant("tenant-a"), "/health?row61=with")
        #expect(with == (200, "CN=tenant-a"))
        let without = try await ask(rig.tenant(nil), "/health?row61=without")
        #expect(without == (400, ""))
        let stranger = try await ask(rig.tenant("stranger"), "/health?row61=stranger")
        #expect(stranger.0 == 400)
    }

    /// It does not use a connection that was made with the certificate, either.
    @Test("A redirect from another origin comes without the client certificate")
    func redirected() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        try await withClient(try rig.tenant("tenant-a")) { client in
            try await client.get(rig.tenantURL("/health?shared=direct")).text()
            // Another scheme is another origin.
            let elsewhere =
                "http://tenant.test:\(rig.httpPort)/redirect/302?to=\(rig.tenantURL("/health?from=elsewhere"))"
            for _ in 0..<2 { #expect(try await client.get(elsewhere).status == .badRequest) }
            try await client.get(rig.tenantURL("/health?shared=again")).text()
        }
        func seen(_ target: String, _ count: Int) async throws -> [AccessLogLine] {
            try await rig.awaitAccessLog(since: mark, count: count) {
                $0.host.hasPrefix("tenant.test") && $0.target == target
            }
        }
        let direct = try await seen("/health?shared=direct", 1) + seen("/health?shared=again", 1)
        let foreign = try await seen("/health?from=elsewhere", 2)
        #expect(direct.allSatisfy { $0.clientSubject == "CN=tenant-a" && $0.status == 200 })
        #expect(foreign.allSatisfy { $0.clientSubject.isEmpty && $0.clientVerification == "NONE" && $0.status == 400 })
        #expect(Set(direct.map(\.connection)).isDisjoint(with: foreign.map(\.connection)))
        #expect(direct[0].connection == direct[1].connection, "the one between has not ended it")
    }

    @Test("An encrypted key is opened with a password of a file, a variable or a closure")
    func encrypted() async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.tenant("tenant-a")
        configuration.trust.clientCertificate?.keyFile = rig.certificateFile("tenant-a.encrypted.key")
        configuration.trust.clientCertificate?.keyPassword = .file(rig.certificateFile("tenant-a.password"))
        do {
            let seen = try await ask(configuration, "/health?key=file")
            #expect(seen == (200, "CN=tenant-a"))
        }
        #expect(!"\(configuration.trust)".contains("a password with spaces"))
        configuration.trust.clientCertificate?.keyPassword = .closure { "a password with spaces" }
        do {
            let seen = try await ask(configuration, "/health?key=closure")
            #expect(seen == (200, "CN=tenant-a"))
        }
        var dumped = ""
        dump(configuration.trust, to: &dumped)
        #expect(!"\(configuration.trust)\(dumped)".contains("a password with spaces"))
        // A variable that every process has.
        let folder = try TemporaryFolder()
        let made = try await Command(
            "openssl",
            [
                "ec", "-in", rig.certificateFile("tenant-a.key"), "-aes128", "-passout", "env:PATH",
                "-out", folder.path("key.pem"),
            ]
        ).run()
        #expect(made.status == 0, "\(made.error)")
        configuration.trust.clientCertificate?.keyFile = folder.path("key.pem")
        configuration.trust.clientCertificate?.keyPassword = .environment("PATH")
        do {
            let seen = try await ask(configuration, "/health?key=environment")
            #expect(seen == (200, "CN=tenant-a"))
        }
    }

    @Test("A certificate, its key and the chain may be in one file")
    func oneFile() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let both = try ["tenant-b.pem", "tenant-b.key"].map {
            try String(contentsOfFile: rig.certificateFile($0), encoding: .utf8)
        }.joined()
        try folder.replace("both.pem", with: both)
        var configuration = try rig.tenant(nil)
        configuration.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: folder.path("both.pem"))
        do {
            let seen = try await ask(configuration, "/health?one=file")
            #expect(seen == (200, "CN=tenant-b"))
        }
    }

    struct Mistake: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var certificate = "tenant-a.pem"
        var key: String? = "tenant-a.key"
        var password: HTTPDNSTrust.KeyPassword?
        var roots = "tenant-ca-a.pem"
        var says: String
    }

    static let mistakes = [
        Mistake(testDescription: "another's key", key: "tenant-b.key", says: "does not belong to the certificate"),
        Mistake(
            testDescription: "a key that needs a password",
            key: "tenant-a.encrypted.key",
            says: "password is missing"
        ),
        Mistake(
            testDescription: "a wrong password",
            key: "tenant-a.encrypted.key",
            password: .environment("PATH"),
            says: "password is wrong"
        ),
        Mistake(
            testDescription: "a password that is not set",
            key: "tenant-a.encrypted.key",
            password: .environment("HTTPDNS_NO_SUCH_VARIABLE"),
            says: "HTTPDNS_NO_SUCH_VARIABLE is not set"
        ),
        Mistake(testDescription: "no certificate", certificate: "tenant-a.key", says: "no PEM certificate in"),
        Mistake(testDescription: "no key in the one file", key: nil, says: "does not belong to the certificate"),
        Mistake(testDescription: "no such file", certificate: "nowhere.pem", says: "cannot be read: No such file"),
        Mistake(testDescription: "authorities that are none", roots: "tenant-a.key", says: "is not PEM"),
    ]

    @Test("Files that do not fit are refused by name when the client is made", arguments: mistakes)
    func refused(mistake: Mistake) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.tenant("tenant-a")
        configuration.trust.roots = .file(rig.certificateFile(mistake.roots))
        configuration.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(
            certificateFile: rig.certificateFile(mistake.certificate),
            keyFile: mistake.key.map(rig.certificateFile),
            keyPassword: mistake.password
        )
        let error = try await refusal { _ = try await HTTPDNSClient(configuration: configuration) }
        #expect(error.code == .configuration && error.phase == .configuration)
        #expect(error.message.contains(mistake.says), "\(error)")
    }

    // MARK: pins

    private static let strange = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    @Test("One matching key pin is enough, and an error has the pin that was found")
    func pins() async throws {
        let rig = try await ServerRig.shared()
        let right = try await rig.pin(of: "tenant.pem")
        let strange = try HTTPDNSTrust.PublicKeyPin(Self.strange)
        let backup = try await ask(rig.tenant("tenant-a", pins: [strange, right]), "/health?pin=backup")
        #expect(backup.0 == 200)
        try await withClient(try rig.tenant("tenant-a", pins: [strange, strange])) { client in
            let error = try await refusal { _ = try await client.get(rig.tenantURL("/health?pin=wrong")) }
            #expect(error.code == .certificateRefused && error.phase == .tls && !error.requestMayHaveBeenSent)
            #expect(error.message.contains("none of the 2 pinned for tenant.test"), "\(error)")
            #expect(error.message.contains("the key that it has is \(right)"), "\(error)")
            #expect(error.hint?.contains("trust.pins") == true)
        }
        let lines = try rig.accessLog()
        #expect(lines.allSatisfy { $0.target != "/health?pin=wrong" })
    }
}
