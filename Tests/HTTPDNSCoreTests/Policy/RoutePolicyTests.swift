// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

struct RoutePolicyTests {
    private let everySource: [HTTPDNSResolver.Resolution.Source] = [.provider, .system, .mapping, .request, .literal]

    private func route(allow: [String] = [], only: [String] = []) throws -> HTTPDNSRoute {
        var route = HTTPDNSRoute(
            .suffix(try HTTPDNSName("shop.example")),
            .providers(["backup"], fallback: .off),
            location: HTTPDNSSourceLocation(file: "f.yaml", line: 5)
        )
        route.allowed = try allow.map { try #require(HTTPDNSAddressBlock($0)) }
        route.only = try only.map { try #require(HTTPDNSAddressBlock($0)) }
        return route
    }

    private func isAllowed(
        _ text: String,
        _ source: HTTPDNSResolver.Resolution.Source,
        _ route: HTTPDNSRoute?,
        policy: HTTPDNSAddressPolicy = HTTPDNSAddressPolicy()
    ) throws -> Bool {
        let address = try #require(HTTPDNSAddress(text))
        return policy.refusal(of: address, from: source, providerScope: .public, route: route) == nil
    }

    @Test("A route's allowed blocks are added to those of the policy, for every source")
    func allows() throws {
        let route = try route(allow: ["10.1.0.0/16", "169.254.7.0/24"])
        for source in everySource {
            #expect(try isAllowed("10.1.2.3", source, route))
            #expect(try isAllowed("169.254.7.7", source, route))
            #expect(try !isAllowed("169.254.8.1", source, route))
        }
        #expect(try !isAllowed("10.2.0.1", .provider, route))
        #expect(try !isAllowed("10.1.2.3", .provider, nil))
        let policy = HTTPDNSAddressPolicy(allowed: [try #require(HTTPDNSAddressBlock("10.2.0.0/16"))])
        #expect(try isAllowed("10.2.0.1", .provider, route, policy: policy))
        #expect(try isAllowed("10.1.0.1", .provider, route, policy: policy))
    }

    /// They bind neither the request itself nor literals.
    @Test("A route's only blocks bind providers, system and mappings")
    func narrows() throws {
        let route = try route(only: ["203.0.113.0/24", "2001:db8::/32"])
        for source in everySource {
            #expect(try isAllowed("203.0.113.7", source, route))
            #expect(try isAllowed("2001:db8::7", source, route))
            let isFree = source == .request || source == .literal
            #expect(try isAllowed("198.51.100.4", source, route) == isFree, "\(source)")
            #expect(try isAllowed("::ffff:203.0.113.7", source, route) == isFree, "\(source)")
        }
    }

    /// Only blocks admit no address that the policy refuses.
    @Test(
        "Allowed blocks admit no address outside of a route's only blocks"
    )
    func onlyIsNoPermission() throws {
        let policy = HTTPDNSAddressPolicy(allowed: [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))])
        let narrow = try route(allow: ["10.1.0.0/16"], only: ["10.1.0.0/24"])
        #expect(try isAllowed("10.1.0.9", .provider, narrow, policy: policy))
        #expect(try !isAllowed("10.1.1.9", .provider, narrow, policy: policy))
        #expect(try !isAllowed("10.2.0.9", .provider, narrow, policy: policy))
        #expect(try !isAllowed("10.3.0.9", .provider, try route(only: ["10.3.0.0/16"])))
        #expect(try !isAllowed("169.254.169.254", .mapping, try route(only: ["169.254.0.0/16"])))
    }

    @Test("A refusal names the route, its location and its blocks, in one line")
    func teaches() throws {
        let address = HTTPDNSAddress(v4: 198, 51, 100, 4)
        let few = try route(only: ["203.0.113.0/24", "2001:db8::/32"])
        #expect(
            HTTPDNSAddressPolicy().refusal(of: address, from: .provider, providerScope: nil, route: few)
                == "198.51.100.4 is outside the only blocks of route \"*.shop.example\" (f.yaml:5): 203.0.113.0/24, "
                + "2001:db8::/32; add its block to the route's only"
        )
        let many = try route(only: (0..<9).map { "203.0.\($0).0/24" })
        #expect(
            HTTPDNSAddressPolicy().refusal(of: address, from: .system, providerScope: nil, route: many)?
                .hasSuffix("203.0.3.0/24 and 5 more; add its block to the route's only") == true
        )
    }

    @Test(
        "A scope is admitted as a whole exactly when no address of it is refused",
        arguments: [nil, HTTPDNSAddressPolicy.Scope.public, .private, .loopback, .special]
    )
    func admits(service: HTTPDNSAddressPolicy.Scope?) throws {
        // One address of each scope, in the order of scopes.
        let samples = try ["203.0.113.7", "10.0.0.1", "127.0.0.1", "169.254.1.1"].map {
            try #require(HTTPDNSAddress($0))
        }
        let policy = HTTPDNSAddressPolicy()
        for source in everySource {
            for (count, scope) in [HTTPDNSAddressPolicy.Scope.public, .private, .loopback, .special].enumerated() {
                let isRefused = samples.prefix(count + 1).contains {
                    policy.refusal(of: $0, from: source, providerScope: service) != nil
                }
                let admits = policy.admits(everythingOfScope: scope, from: source, providerScope: service)
                #expect(admits == !isRefused, "\(source) \(scope)")
            }
        }
    }

    /// Allowed blocks change nothing.
    @Test(
        "A route with only blocks admits no scope as a whole, except from the request"
    )
    func admitsByRoute() throws {
        let policy = HTTPDNSAddressPolicy()
        let (narrow, wide) = (try route(only: ["203.0.113.0/24"]), try route(allow: ["10.0.0.0/8"]))
        for source in [HTTPDNSResolver.Resolution.Source.provider, .system, .mapping] {
            #expect(!policy.admits(everythingOfScope: .public, from: source, providerScope: nil, route: narrow))
            #expect(policy.admits(everythingOfScope: .public, from: source, providerScope: nil, route: wide))
        }
        #expect(policy.admits(everythingOfScope: .loopback, from: .request, providerScope: nil, route: narrow))
        #expect(!policy.admits(everythingOfScope: .private, from: .provider, providerScope: .public, route: wide))
    }
}
