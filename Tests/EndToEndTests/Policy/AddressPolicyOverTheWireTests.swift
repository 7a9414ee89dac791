// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// What a provider may answer, with BIND as the provider on loopback.
@Suite("The address policy, against BIND and nginx", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct AddressPolicyOverTheWireTests {
    /// Addresses that no provider may give, however near it is, and that nothing may connect to.
    static let specialAddresses = [
        "169.254.169.254", "169.254.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
    ]

    /// The rule holds for every provider.
    @Test("Link-local, unspecified and multicast answers are refused until allowed", arguments: specialAddresses)
    func special(address: String) async throws {
        let rig = try await ServerRig.shared()
        let name = "policy-\(address.replacing(".", with: "-")).wild.test"
        try await rig.setRecords(name, [address])
        try await withClient(rig.settings()) { client in
            let error = try await refusal { _ = try await client.get("https://\(name)/") }
            #expect(error.code == .policyRefused && error.phase == .policy && error.host == name)
            #expect(error.requestMayHaveBeenSent == false && error.attempts.isEmpty == true)
            for word in [name, address, "policy.allow"] { #expect("\(error)".contains(word), "\(error)") }
        }
        var allowing = try rig.settings()
        allowing.resolver.policy.allowed = [try #require(HTTPDNSAddressBlock(address))]
        try await withClient(allowing) { client in
            let rewritten = try await client.rewrite("https://\(name)/")
            #expect(rewritten.addresses.map(\.address.description) == [address])
        }
    }

    @Test("A provider on loopback may answer public addresses only, until allowed more")
    func stub() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer(.hang)
        try await rig.setRecords("policy-stub.wild.test", ["127.0.0.1"])
        let flags = [
            "fetch", "http://policy-stub.wild.test:\(server.port)/", "--doh", rig.dohURL, "--bootstrap",
            "doh.test=127.0.0.1", "--cacert", rig.certificateAuthorityFile,
        ]
        let run = try await Command.resolveTest(flags).run()
        #expect(run.status == 1 && run.error.contains("answer_scope: loopback"), "\(run)")
        #expect(server.connections.isEmpty)
        let allowed = try await Command.resolveTest(
            ["resolve", "policy-stub.wild.test"] + flags.dropFirst(2) + ["--answer-scope", "loopback"]
        ).run()
        #expect(allowed.status == 0 && allowed.output.contains("127.0.0.1"), "\(allowed)")
    }

    @Test("A limit to public answers refuses loopback and private ones without connecting")
    func publicOnly() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer(.hang)
        try await rig.setRecords("policy-public.wild.test", ["127.0.0.1"])
        try await rig.setRecords("policy-private.wild.test", ["10.0.0.1"])
        let configuration = try rig.settings(answers: .public)
        try await withClient(configuration) { client in
            for (name, address) in [
                ("policy-public.wild.test", "127.0.0.1"), ("policy-private.wild.test", "10.0.0.1"),
                ("special.test", "169.254.169.254"),
            ] {
                let error = try await refusal { _ = try await client.get("http://\(name):\(server.port)/") }
                #expect(error.code == .policyRefused && "\(error)".contains(address), "\(error)")
            }
            // What the operator names is another matter.
            try client.mappings.apply { $0["policy-public.wild.test"] = .addresses(["127.0.0.2"]) }
            let echo = try await Echo(try await client.get("https://policy-public.wild.test:\(rig.tlsPort)/echo"))
            #expect(echo.address == "127.0.0.2")
        }
        #expect(server.connections.isEmpty)
        try await rig.removeRecords("policy-private.wild.test")
    }

    @Test("Only the allowed addresses of a mixed answer are tried")
    func mixed() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords("policy-mixed.wild.test", ["169.254.169.254", "127.0.0.2", "0.0.0.0"])
        try await withClient(rig.settings()) { client in
            let rewritten = try await client.rewrite("https://policy-mixed.wild.test:\(rig.tlsPort)/echo")
            #expect(rewritten.addresses.map(\.address.description) == ["127.0.0.2"])
            #expect(try await Echo(client.execute(rewritten)).address == "127.0.0.2")
        }
    }

    @Test("IPv4 addresses written as IPv6 ones are refused as the IPv4 addresses")
    func mappedAddresses() async throws {
        let rig = try await ServerRig.shared()
        let name = "policy-v6.wild.test"
        for address in ["::ffff:169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "fe80::1", "::", "ff02::1"]
        {
            try await rig.setRecords(name, type: "AAAA", [address])
            try await rig.setRecords(name, type: "A", [])
            var configuration = try rig.settings(answers: .public)
            configuration.resolver.families = .v6
            try await withClient(configuration) { client in
                let error = try await refusal { _ = try await client.rewrite("https://\(name)/") }
                #expect(error.code == .policyRefused, "\(address): \(error)")
            }
        }
    }

    @Test("A special address is refused from a mapping, a request and a URL")
    func everySource() async throws {
        let rig = try await ServerRig.shared()
        let configuration = try rig.settings(mappings: ["meta.test": .addresses(["169.254.169.254"])])
        try await withClient(configuration) { client in
            for (url, pins) in [
                ("http://meta.test/", nil), ("http://x.test/", ["169.254.169.254"]), ("http://169.254.169.254/", nil),
                ("http://[::ffff:169.254.169.254]/", nil), ("http://0.0.0.0/", nil), ("http://[::]/", nil),
                ("http://[fe80::1]/", nil), ("http://meta.test./", nil),
            ] as [(String, [HTTPDNSClient.Request.Target]?)] {
                let error = try await refusal {
                    _ = try await client.get(url) { if let pins { $0.addresses = .only(pins) } }
                }
                #expect(error.code == .policyRefused && error.phase == .policy, "\(url): \(error)")
            }
        }
    }

    /// Fail-closed: a route without a fallback.
    @Test("A provider that is gone or lies does not cause a system lookup")
    func failClosed() async throws {
        let rig = try await ServerRig.shared()
        let flags = ["--bootstrap", "doh.test=127.0.0.1", "--cacert", rig.certificateAuthorityFile]
        let tripwire = try await Tripwire.shared()
        for (arguments, word) in [
            (["http://one.test/", "--doh", "https://doh.test:1/dns-query"], "one.test"),
            (["http://special.test/", "--doh", rig.dohURL], "169.254.169.254"),
            (["http://gone.one.test/", "--doh", rig.dohURL], "gone.one.test"),
            (["http://nodata.test/", "--doh", rig.dohURL], "nodata.test"),
            (["http://loop1.test/", "--doh", rig.dohURL], "loop1.test"),
            (["http://outside.test/", "--doh", rig.dohURL], "outside.test"),
        ] {
            let run = try await tripwire.run(Command.resolveTest(["fetch", "-sS"] + arguments + flags))
            #expect([1, 6].contains(run.result.status) && run.lookups == [], "\(arguments): \(run)")
            #expect(
                run.result.error.contains(word) && run.result.error.split(separator: "\n").count == 1,
                "\(run.result)"
            )
        }
        // The tripwire would have seen it: this is what a fallback looks like.
        let dead = ["fetch", "http://gone.one.test/", "--doh", "https://doh.test:1/dns-query", "--system-fallback"]
        let open = try await tripwire.run(Command.resolveTest(dead + flags))
        #expect(open.lookups.contains { $0.contains("gone.one.test") }, "\(open)")
    }

    @Test(
        "A negative answer of a provider does not cause a fallback",
        arguments: [("gone.one.test", "does not exist"), ("nodata.test", "no ")]
    )
    func answerIsNoFailure(host: String, word: String) async throws {
        let run = try await fetchWithFallback(host)
        #expect([1, 6].contains(run.result.status) && run.result.error.contains(word), "\(run)")
        #expect(run.lookups == [])
    }

    /// The answer of the fallback has the limits of the provider: none of its addresses is connected to either.
    @Test("A refused answer of a provider leads to the fallback, and stays the error")
    func refusedAnswerIsFailure() async throws {
        let run = try await fetchWithFallback("special.test")
        #expect(run.result.status == 1 && run.result.error.contains("169.254.169.254"), "\(run)")
        #expect(run.lookups.count == 1 && run.lookups.allSatisfy { $0.contains("special.test") }, "\(run)")
    }

    private func fetchWithFallback(_ host: String) async throws -> (result: CommandResult, lookups: [String]) {
        let rig = try await ServerRig.shared()
        let command = try Command.resolveTest([
            "fetch", "http://\(host)/", "--doh", rig.dohURL, "--system-fallback", "--bootstrap",
            "doh.test=127.0.0.1", "--answer-scope", "loopback", "--cacert", rig.certificateAuthorityFile,
        ])
        return try await Tripwire.shared().run(command)
    }
}
