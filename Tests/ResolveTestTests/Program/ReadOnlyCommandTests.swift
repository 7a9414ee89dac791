// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNSCore
import ServerRig
import Testing

/// Commands beside a running service, with the configuration file of that service.
@Suite("Commands that only read", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct ReadOnlyCommandTests {
    private static let name = "read-only.wild.test"
    /// No other test asks for it.
    private static let watched = "watched.wild.test"
    private static let preresolved = "read-only-preresolved.wild.test"

    /// A folder with the file of a service, its snapshot and the addresses that a vendor of it discovered.
    private struct Service {
        let folder: TemporaryFolder
        let file: String

        init(_ rig: ServerRig, owner: uid_t) async throws {
            folder = try TemporaryFolder()
            file = try folder.write(
                """
                version: 1
                providers:
                  main:
                    kind: doh
                    url: "\(rig.dohURL)"
                    bootstrap: [127.0.0.1]
                    ca_file: "\(rig.certificateAuthorityFile)"
                    answer_scope: loopback
                  vendor: { kind: alibaba-v1, account: "1", addresses_file: vendor-addresses }
                routes:
                  "*.wild.test": { providers: [main], fallback: none }
                  vendor.test: { providers: [vendor], fallback: none }
                cache: { snapshot: { file: snapshot }, preresolve: [\(ReadOnlyCommandTests.preresolved)] }
                client: { ca_file: "\(rig.certificateAuthorityFile)" }
                """,
                to: "httpdns.yaml"
            )
            for (store, host, route, provider) in [
                ("snapshot", "kept.wild.test", "*.wild.test > main", "main"),
                ("vendor-addresses", "service-addresses.invalid", "https://vendor.test china 443", "vendor"),
            ] {
                let stored = HTTPDNSStoredResolution(
                    host: try HTTPDNSName(host),
                    families: .both,
                    route: route,
                    addresses: [HTTPDNSAddress(v4: 127, 0, 0, 2)],
                    provider: provider,
                    receivedAt: Int64(Date().timeIntervalSince1970 * 1000),
                    timeToLive: .seconds(3600)
                )
                try await HTTPDNSDiskStore(path: "\(folder.path)/\(store)").save([stored])
                try #require(geteuid() != 0 || chown("\(folder.path)/\(store)", owner, gid_t(owner)) == 0)
            }
        }

        /// All that tells a file from one that was written again.
        func facts() throws -> [String] {
            try ["httpdns.yaml", "snapshot", "vendor-addresses"].map { name in
                let path = "\(folder.path)/\(name)"
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                let facts = [.systemFileNumber, .ownerAccountID, .posixPermissions].map { (key: FileAttributeKey) in
                    attributes[key].map { "\($0)" } ?? ""
                }
                let changedAt = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970
                let contents = try Data(contentsOf: URL(fileURLWithPath: path))
                return "\(name) \(facts) \(changedAt ?? 0) \(contents.base64EncodedString())"
            } + [folder.names.joined(separator: " ")]
        }
    }

    @Test(
        "A command beside a service does not touch its files or its preresolved names",
        arguments: [geteuid(), 65_534].filter { geteuid() == 0 || $0 == geteuid() }
    )
    func files(owner: uid_t) async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords(Self.name, ["127.0.0.2"])
        try await rig.setRecords(Self.preresolved, ["127.0.0.2"])
        let service = try await Service(rig, owner: owner)
        let (before, mark) = (try service.facts(), rig.bindLogMark())
        let origin = "\(Self.name):\(rig.tlsPort)"
        let config = ["--config", service.file]
        let commands: [[String]] = [
            ["check", service.file], ["check", service.file, "-v"], ["export", service.file], ["export"] + config,
            ["resolve", Self.name] + config, ["resolve", Self.name, "--family", "v4"] + config,
            [
                "resolve", Self.name, "--doh", rig.dohURL, "--bootstrap", "doh.test=127.0.0.1", "--answer-scope",
                "loopback",
            ]
                + config,
            ["explain", "https://\(origin)/"] + config, ["fetch", "https://\(origin)/health"] + config,
            ["compare", origin] + config, ["compare", origin, "--probe"] + config,
            ["watch", Self.name, "--count", "2", "--interval", "50ms"] + config,
        ]
        for command in commands {
            // What asks the system resolver too is refused there, and need not wait for the network of the machine.
            let run = try await Tripwire.shared().run(Program.command(command))
            #expect(run.result.status == 0 || command[0] == "compare", "\(command): \(run.result)")
            #expect(try service.facts() == before, "\(command)")
        }
        #expect(try rig.queryCount(of: Self.name, since: mark) > 0)
        #expect(try rig.queryCount(of: Self.preresolved, since: mark) == 0)
    }

    @Test(
        "The key r of a watch clears the cache of the watch, and not the snapshot",
        .enabled(if: Command.find("script") != nil)
    )
    func refreshed() async throws {
        let rig = try await ServerRig.shared()
        try await rig.setRecords(Self.watched, timeToLive: 600, ["127.0.0.2"])
        let service = try await Service(rig, owner: geteuid())
        let before = try service.facts()
        var counts: [Int] = []
        for keys in ["", "printf r; sleep 1; "] {
            let mark = rig.bindLogMark()
            let output = try TemporaryFolder()
            let seen = try output.write("", to: "seen")
            let watch = "\(Program.path) watch \(Self.watched) --config \(service.file) --interval 50ms --for 60s"
            let typing = "until grep -aq 127.0.0.2 \(seen); do sleep 0.05; done; \(keys)printf q; "
            let shell = "(\(typing)exec sleep 8) | script -qfec '\(watch)' \(seen)"
            let run = try await Command("sh", ["-c", shell], environment: ["NO_COLOR": "1", "TERM": "xterm"]).run()
            #expect(run.output.contains("q quit   r refresh"), "\(run)")
            counts.append(try rig.queryCount(of: Self.watched, since: mark))
        }
        #expect(counts[1] > counts[0], "r asks again: \(counts)")
        #expect(try service.facts() == before)
    }

    @Test("The command check opens no socket, whatever is to be resolved at the start")
    func silentCheck() async throws {
        let folder = try TemporaryFolder()
        let provider = try RawServer(.hang)
        let file = try folder.write(
            """
            version: 1
            providers:
              main: { kind: doh, url: "https://127.0.0.1:\(provider.port)/dns-query" }
            routes: { "*.wild.test": { providers: [main], fallback: system } }
            cache: { snapshot: { file: snapshot }, preresolve: [one.wild.test, two.wild.test] }
            """,
            to: "httpdns.yaml"
        )
        let tripwire = try await Tripwire.shared()
        // One run may end before a name is asked about.
        for _ in 1...20 {
            let run = try await tripwire.run(Program.command(["check", file]), recordsSockets: true)
            #expect(run.result.status == 0 && run.lookups == [], "\(run)")
        }
        #expect(try provider.connections.isEmpty && folder.names == ["httpdns.yaml"])
        // The tripwire sees the sockets of commands that do send.
        let sending = ["resolve", "one.wild.test", "--config", file]
        #expect(try await tripwire.run(Program.command(sending), recordsSockets: true).lookups.contains("socket IPv4"))
    }
}
#endif
