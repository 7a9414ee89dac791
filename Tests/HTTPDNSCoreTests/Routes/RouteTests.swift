// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct RouteTests {
    private func resolver(_ routes: [HTTPDNSRoute], providers: [String] = ["a", "b"]) throws -> HTTPDNSResolver {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = providers.map { HTTPDNSScriptedProvider(name: $0) }
        configuration.routes = routes
        return try HTTPDNSResolver(configuration, systemResolver: ScriptedSystemResolver())
    }

    private func route(_ pattern: String, _ providers: String...) throws -> HTTPDNSRoute {
        HTTPDNSRoute(try .init(pattern), providers.isEmpty ? .system : .providers(providers, fallback: .off))
    }

    /// Internal names use their exact route only.
    @Test(
        "The exact route wins, then the longest suffix, then the route for all names",
        arguments: [
            ("img.shop.example", "img.shop.example"), ("x.shop.example", "*.shop.example"), ("shop.example", "*"),
            ("a.b.shop.example", "*.b.shop.example"), ("b.shop.example", "*.shop.example"), ("other.test", "*"),
            ("workshop.example", "*"), ("db", nil), ("printer.local", nil), ("nas.home.arpa", nil), ("x.internal", nil),
            ("web.default.svc.cluster.local", nil), ("exact.internal", "exact.internal"), ("intranet", "intranet"),
        ]
    )
    func finds(host: String, pattern: String?) throws {
        let resolver = try resolver([
            route("*", "a"), route("*.shop.example", "a"), route("img.shop.example", "b"),
            route("*.b.shop.example", "b"),
            route("exact.internal", "a"), route("intranet", "a"), route("*.svc.cluster.local"),
        ])
        #expect(try resolver.route(for: HTTPDNSName(host))?.pattern.description == pattern)
    }

    @Test("Without \"*\" a name outside of all routes goes to no provider")
    func outside() throws {
        #expect(try resolver([route("*.shop.example", "a")]).route(for: HTTPDNSName("other.test")) == nil)
    }

    @Test("Impossible routes are refused, with location and reason")
    func refuses() throws {
        let cases: [([HTTPDNSRoute], String)] = [
            ([try route("a.test", "c")], "there is no provider \"c\"; defined are a, b"),
            ([try route("a.test", "a"), try route("A.test.", "b")], "stands there twice"),
            ([try route("*.a.test", "a"), try route("*.a.test")], "stands there twice"),
            ([try route("*", "a"), try route("*", "b")], "stands there twice"),
            ([try route("a.test", "a", "a")], "the provider \"a\" twice"),
            ([HTTPDNSRoute(try .init("a.test"), .providers([], fallback: .off))], "names no provider"),
            ([try route("*.svc.cluster.local", "a")], "are internal"),
            ([try route("*.internal", "a")], "are internal"),
            ([try route("*.home.arpa", "a")], "are internal"),
            ([try route("localhost", "a")], "always this machine's loopback addresses"),
            ([try route("app.localhost", "a")], "always this machine's loopback addresses"),
            ([try route("*.localhost", "a")], "always this machine's loopback addresses"),
        ]
        for (routes, reason) in cases {
            var routes = routes
            routes[routes.count - 1].location = HTTPDNSSourceLocation(file: "httpdns.yaml", line: 3)
            let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try resolver(routes) }
            #expect(error?.message.contains(reason) == true, "\(error?.description ?? "no error")")
            #expect(error?.description.hasPrefix("httpdns.yaml:3: route ") == true)
        }
        _ = try resolver([
            HTTPDNSRoute(HTTPDNSRoute.Pattern("a.test"), .providers([], fallback: .system)), route("*.com", "a"),
        ])
    }

    @Test("Contradictory settings are refused")
    func refusesSettings() throws {
        let cases: [(String, (inout HTTPDNSResolver.Configuration) throws -> Void)] = [
            ("unique", { $0.providers = [HTTPDNSScriptedProvider(name: "a"), HTTPDNSScriptedProvider(name: "a")] }),
            ("\"system\"", { $0.providers = [HTTPDNSScriptedProvider(name: "system")] }),
            ("no name", { $0.providers = [HTTPDNSScriptedProvider(name: "")] }),
            ("cache.entries", { $0.cache.entries = 0 }), ("time limit", { $0.timeLimit = .zero }),
            (
                "below",
                {
                    $0.cache.minimumTimeToLive = .seconds(10); $0.cache.maximumTimeToLive = .seconds(9)
                }
            ),
            ("negative", { $0.cache.minimumTimeToLive = .seconds(-1) }), ("no family", { $0.families = [] }),
            ("no address", { $0.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses([])] }),
        ]
        for (reason, change) in cases {
            var configuration = HTTPDNSResolver.Configuration()
            try change(&configuration)
            let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
                try HTTPDNSResolver(configuration, systemResolver: ScriptedSystemResolver())
            }
            #expect(error?.message.contains(reason) == true, "\(error?.description ?? "no error")")
        }
    }

    @Test("A pattern is a name, \"*.\" and a name, or \"*\"")
    func readsPatterns() throws {
        #expect(try HTTPDNSRoute.Pattern("*") == .any)
        #expect(try HTTPDNSRoute.Pattern("*.Shop.example.") == .suffix(HTTPDNSName("shop.example")))
        #expect(try HTTPDNSRoute.Pattern("Shop.example") == .exact(HTTPDNSName("shop.example")))
        let error = #expect(throws: HTTPDNSName.Error.self) { try HTTPDNSRoute.Pattern("*.a b") }
        #expect(error?.text == "*.a b")
        for text in ["**", "*.", "*.*", "a.*", "*a.test", ""] {
            #expect(throws: HTTPDNSName.Error.self) { try HTTPDNSRoute.Pattern(text) }
        }
    }
}
