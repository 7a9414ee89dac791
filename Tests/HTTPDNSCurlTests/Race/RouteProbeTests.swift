// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct RouteProbeTests {
    /// A kernel that knows routes to some addresses, and counts the questions.
    private final class Kernel: Sendable {
        private let state: Lock<(reachable: Set<String>, asked: [String])>
        var asked: [String] { state.withLock { $0.asked } }

        init(_ reachable: Set<String>) { state = Lock((reachable, [])) }

        func knows(_ reachable: Set<String>) { state.withLock { $0.reachable = reachable } }

        var probe: RouteProbe {
            RouteProbe { address in
                self.state.withLock { state in
                    state.asked.append("\(address)")
                    return state.reachable.contains("\(address)")
                }
            }
        }
    }

    @Test("IPv6 takes an address beyond loopback and link, or a route to the Internet")
    func machine() throws {
        let table = (try? String(contentsOfFile: "/proc/net/if_inet6", encoding: .utf8)) ?? ""
        let addresses = table.split(separator: "\n").compactMap { $0.split(separator: " ").first }
        let hasAddress = addresses.contains { !$0.hasPrefix("fe8") && !$0.allSatisfy { "01".contains($0) } }
        let internet = try #require(HTTPDNSAddress(Self.internet))
        #expect(RouteProbe.systemHasIPv6() == (hasAddress || RouteProbe.systemHasRoute(to: internet)))
    }

    private static let internet = "2001:4860:4860::8888"
    private static let seconds: Int64 = 1_000_000_000

    private func reachable(_ probe: inout RouteProbe, _ text: String, at now: Int64 = 0) throws -> String {
        try text.split(separator: " ").filter { probe.hasRoute(to: try #require(HTTPDNSAddress(String($0))), at: now) }
            .joined(separator: " ")
    }

    @Test("With a route to the Internet nothing else is asked")
    func route() throws {
        let kernel = Kernel([Self.internet])
        var probe = kernel.probe
        let all = "2001:db8::1 10.0.0.1 ::1 fd00::1"
        #expect(try reachable(&probe, all) == all)
        let hasIPv6 = probe.hasIPv6(at: 9 * Self.seconds)
        #expect(hasIPv6 && kernel.asked == [Self.internet])
    }

    /// Addresses of a machine's own networks are not.
    @Test("Without a route each IPv6 address of the Internet is asked about by itself")
    func neighbours() throws {
        let kernel = Kernel(["2001:db8::1"])
        var probe = kernel.probe
        #expect(try reachable(&probe, "2001:db8::1 2001:db8::2 10.0.0.1") == "2001:db8::1 10.0.0.1")
        #expect(try reachable(&probe, "::1 fd00::1 fe80::1 1fff:: 4000::") == "::1 fd00::1 fe80::1 1fff:: 4000::")
        #expect(try reachable(&probe, "2000:: 3fff:ffff::1") == "")
        let hasIPv6 = probe.hasIPv6(at: 0)
        #expect(!hasIPv6)
        #expect(kernel.asked == [Self.internet, "2001:db8::1", "2001:db8::2", "2000::", "3fff:ffff::1"])
    }

    @Test("An answer holds for ten seconds: routes come and go")
    func life() throws {
        let kernel = Kernel(["2001:db8::1"])
        var probe = kernel.probe
        let both = "2001:db8::1 2001:db8::2"
        #expect(try reachable(&probe, both) == "2001:db8::1")
        kernel.knows(["2001:db8::2"])
        #expect(try reachable(&probe, both, at: 10 * Self.seconds - 1) == "2001:db8::1")
        #expect(kernel.asked.count == 3)
        #expect(try reachable(&probe, both, at: 10 * Self.seconds) == "2001:db8::2")
        kernel.knows([Self.internet])
        #expect(try reachable(&probe, both, at: 20 * Self.seconds) == both)
    }

    /// The others count as unreachable.
    @Test("A machine without a route asks about a bounded number of addresses")
    func bound() throws {
        let kernel = Kernel(["2001:db8::ffff"])
        var probe = kernel.probe
        for number in 1...(2 * RouteProbe.maximumAnswers) {
            #expect(try reachable(&probe, "2001:db8::\(String(number, radix: 16))") == "")
        }
        #expect(kernel.asked.count == 1 + RouteProbe.maximumAnswers)
        #expect(try reachable(&probe, "2001:db8::ffff") == "")
        #expect(try reachable(&probe, "2001:db8::ffff", at: 10 * Self.seconds) == "2001:db8::ffff")
    }

    @Test("The kernel has a route to this machine")
    func system() throws {
        #expect(RouteProbe.systemHasRoute(to: try #require(HTTPDNSAddress("::1"))))
    }
}
