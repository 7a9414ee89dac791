// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

/// What happens when the provider does not answer, and what the system resolver may do
/// about it.
@Suite("A dead provider", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct DeadProviderTests {
    /// A provider at an address of the loopback block where nobody listens. What it may answer, the fallback may: the
    /// machine's own name has an address of the machine.
    private func deadProvider() throws -> HTTPDNSDoHProvider {
        var service = HTTPDNSDoHProvider.Configuration(name: "dead", url: "https://doh.test:1/")
        service.bootstrap = [HTTPDNSAddress(v4: 127, 0, 0, 66)]
        service.answerScope = .loopback
        return try HTTPDNSDoHProvider(service)
    }

    /// A name that the system resolver of this machine knows, with its first address of IPv4. `localhost` is not one:
    /// the resolver answers that by itself.
    private func systemsOwnName() async throws -> (name: String, address: String) {
        let hosts = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
        let listed = hosts.split(separator: "\n").flatMap { line in
            line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).dropFirst().map(String.init)
        }
        for name in [ProcessInfo.processInfo.hostName] + listed {
            guard let host = try? HTTPDNSName(name), !host.isLocalhost else { continue }
            let found = try await Command("getent", ["ahostsv4", name]).run()
            if found.status == 0, let address = found.output.split(separator: " ").first {
                return (name, String(address))
            }
        }
        throw SystemKnowsNothing(hosts: hosts)
    }

    private struct SystemKnowsNothing: Error, CustomStringConvertible {
        var hosts: String
        var description: String {
            "the test needs one name that getaddrinfo knows on this machine, such as its host name; /etc/hosts has:\n\(hosts)"
        }
    }

    /// The response says so. With the system off the same request fails.
    @Test("A dead provider's name is served by the system only where the route allows it")
    func fallback() async throws {
        let system = try await systemsOwnName()
        let server = try RawServer(address: system.address, .serve("ok"))
        let url = "http://\(system.name):\(server.port)/"
        for fallback in [HTTPDNSRoute.Fallback.off, .system] {
            var configuration = HTTPDNSClient.Configuration()
            configuration.makePatient()
            configuration.resolver.timeSource = HTTPDNSManualClock()
            configuration.resolver.providers = [try deadProvider()]
            configuration.resolver.routes = [
                HTTPDNSRoute(.exact(try HTTPDNSName(system.name)), .providers(["dead"], fallback: fallback))
            ]
            try await withClient(configuration) { client in
                guard fallback == .system else {
                    let error = try await refusal { _ = try await client.get(url) }
                    #expect(error.code == .resolveFailed && error.phase == .resolve, "\(error)")
                    let resolution = try #require(error.underlying as? HTTPDNSResolver.Error)
                    #expect(resolution.code == .providersFailed && resolution.attempts.map(\.provider) == ["dead"])
                    #expect(resolution.hint?.contains("fallback: system") == true, "\(resolution)")
                    #expect(server.connections.isEmpty)
                    return
                }
                for isCached in [false, true] {
                    let response = try await client.get(url)
                    #expect(try await response.text() == "ok")
                    let rewritten = try #require(response.exchanges.first?.request)
                    #expect(rewritten.source == .system && rewritten.resolution.isCached == isCached)
                    // The providers' failure is not kept quiet, and the answer lives only until they may be asked again.
                    #expect(rewritten.resolution.failedAttempts.map(\.provider) == ["dead"])
                    // Chance makes it up to a tenth longer.
                    let life = try #require(rewritten.timeToLive)
                    #expect(life >= .seconds(1) && life <= .milliseconds(1_100))
                }
                let request = server.connections.first?.text ?? ""
                let host = try HTTPDNSName(system.name)
                #expect(request.contains("\r\nHost: \(host):\(server.port)\r\n"), "\(request)")
            }
        }
    }

    /// What it answered before still serves.
    @Test("A held provider delays no call beyond the limit, and is found again later")
    func held() async throws {
        let rig = try await ServerRig.start()
        let time = HTTPDNSManualClock()
        var configuration = try rig.settings()
        configuration.resolver.timeSource = time
        configuration.resolver.timeLimit = .seconds(3)
        configuration.resolver.families = .v4
        let known = "https://three.test:\(rig.tlsPort)/health"
        let unknown = "https://two.test:\(rig.tlsPort)/health"
        try await withClient(configuration) { client in
            #expect(try await client.get(known).text() == "127.0.0.4\n")
            rig.holdBind()
            let mark = rig.bindLogMark()

            // Cached for 60 s: nobody notices.
            #expect(try await client.get(known).text() == "127.0.0.4\n")

            // Ten at once wait for one question, until the limit, which the injected clock reaches.
            let refusals = try await withThrowingTaskGroup(of: HTTPDNSClientError.self) { group in
                for _ in 0..<10 {
                    group.addTask { try await refusal { _ = try await client.get(unknown) } }
                }
                await time.sleepers(atLeast: 1)
                time.advance(by: .seconds(3))
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for error in refusals {
                #expect(error.code == .timedOut || error.code == .resolveFailed, "\(error)")
                #expect(error.phase == .resolve && error.requestMayHaveBeenSent == false && error.attempts.isEmpty)
                #expect("\(error)".contains("two.test") && "\(error)".contains("bind"), "\(error)")
            }
            #expect(refusals.count == 10)

            // In backoff: at once, without a question, and it says when it will ask again.
            let early = try await refusal { _ = try await client.get(unknown) }
            #expect("\(early)".contains("asked again in"), "\(early)")

            rig.resumeBind()
            time.advance(by: .seconds(2))
            #expect(try await client.get(unknown).text() == "127.0.0.3\n")
            // One question that was held, and one after it; held, BIND answers what still stands in its socket.
            #expect(try rig.queryCount(of: "two.test", since: mark) <= 2)
        }
        try await rig.stop()
    }
}
