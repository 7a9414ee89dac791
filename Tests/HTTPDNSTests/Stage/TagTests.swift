// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct TagTests {
    @Test("A second client asks no provider for a rewritten request within its life")
    func secondClient() async throws {
        let first = try Rig()
        let second = try Rig()
        let rewritten = try await first.client.rewrite("https://one.test/a")
        #expect(rewritten.tag?.isValid == true)
        let response = try await second.client.execute(rewritten, headerFields: [.accept: "*/*"])
        #expect(first.provider.queries.count == 1 && second.provider.queries.isEmpty)
        #expect(second.wire.requests.map { $0.endpoints.map(\.description) } == [["203.0.113.1:443"]])
        #expect(response.exchanges.first?.request.tag?.isValid == true)
        #expect(response.exchanges.first?.request.resolution.provider == "scripted")
    }

    @Test("A request is rewritten again after the life of its tag")
    func expiry() async throws {
        let first = try Rig()
        let second = try Rig()
        let rewritten = try await first.client.rewrite("https://one.test/")
        first.clock.advance(by: .milliseconds(29_999))
        #expect(rewritten.tag?.isValid == true)
        first.clock.advance(by: .milliseconds(1))
        #expect(rewritten.tag?.isValid == false)
        _ = try await second.client.execute(rewritten)
        #expect(second.provider.queries.count == 1)
    }

    @Test("A tag lasts a minute for lasting addresses, and a second for one use")
    func lifetimes() async throws {
        let rig = try Rig(timeToLive: .zero)
        let mapped = try await rig.client.rewrite("https://map.test/")
        let once = try await rig.client.rewrite("https://one.test/")
        #expect(mapped.timeToLive == nil && mapped.tag?.isValid == true && once.tag?.isValid == true)
        rig.clock.advance(by: .seconds(1))
        #expect(once.tag?.isValid == false && mapped.tag?.isValid == true)
        rig.clock.advance(by: .seconds(59))
        #expect(mapped.tag?.isValid == false)
    }

    @Test("Any change of the issuer's mappings ends a tag")
    func generation() async throws {
        let first = try Rig()
        let second = try Rig()
        let rewritten = try await first.client.rewrite("https://map.test/")
        let generation = try first.client.mappings.apply { $0["map.test"] = .addresses(["203.0.113.9"]) }
        #expect(generation > rewritten.generation)
        #expect(rewritten.tag?.isValid == false)
        let response = try await first.client.execute(rewritten)
        #expect(first.wire.requests.first?.endpoints.map(\.address.description) == ["203.0.113.9"])
        #expect(response.exchanges.first?.request.generation == generation)
        _ = try await second.client.execute(rewritten)
        #expect(second.wire.requests.first?.endpoints.map(\.address.description) == ["203.0.113.7", "2001:db8::7"])
    }

    @Test("The second client's address policy still decides")
    func policy() async throws {
        let first = try Rig { configuration in
            configuration.resolver.policy.allowed = [try #require(HTTPDNSAddressBlock("169.254.0.0/16"))]
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("meta.test"): .addresses(["169.254.169.254"])]
        }
        let second = try Rig()
        let rewritten = try await first.client.rewrite("https://meta.test/")
        let error = await clientError { try await second.client.execute(rewritten) }
        #expect(error?.code == .policyRefused && error?.phase == .policy)
        #expect(error?.message.contains("169.254.169.254") == true)
        #expect(second.wire.requests.isEmpty)
        _ = try await first.client.execute(rewritten)
        #expect(first.wire.requests.count == 1)
    }

    @Test("The only blocks of the second client's route hold for addresses of the first")
    func onlyBlocks() async throws {
        let inside = try #require(HTTPDNSAddressBlock("203.0.113.0/29"))
        let first = try Rig {
            $0.resolver.mappings = [try HTTPDNSMapping.Key("moved.test"): .addresses(["198.51.100.9", "203.0.113.1"])]
        }
        let second = try Rig {
            for index in $0.resolver.routes.indices { $0.resolver.routes[index].only = [inside] }
        }
        let moved = try await first.client.rewrite("https://moved.test/")
        _ = try await second.client.execute(moved)
        // One address is outside, and the other is dialed.
        #expect(second.wire.requests.map { $0.endpoints.map(\.description) } == [["203.0.113.1:443"]])

        try first.client.mappings.apply { $0["moved.test"] = .addresses(["198.51.100.9"]) }
        let outside = try await first.client.rewrite("https://moved.test/")
        #expect(outside.tag?.isValid == true)
        let error = await clientError { try await second.client.execute(outside) }
        #expect(error?.code == .policyRefused && error?.phase == .policy)
        #expect(error?.message.contains("198.51.100.9 is outside the only blocks of route") == true)
        #expect(second.wire.requests.count == 1)
    }

    @Test("The allowed blocks of the first client's route do not count for the second")
    func allowedBlocks() async throws {
        let metadata = try #require(HTTPDNSAddressBlock("169.254.0.0/16"))
        let first = try Rig {
            for index in $0.resolver.routes.indices { $0.resolver.routes[index].allowed = [metadata] }
            $0.resolver.mappings = [try HTTPDNSMapping.Key("meta.test"): .addresses(["169.254.169.254"])]
        }
        let allowing = try Rig {
            for index in $0.resolver.routes.indices { $0.resolver.routes[index].allowed = [metadata] }
        }
        let strict = try Rig()
        let rewritten = try await first.client.rewrite("https://meta.test/")
        _ = try await allowing.client.execute(rewritten)
        #expect(allowing.wire.requests.count == 1)
        #expect(await clientError { try await strict.client.execute(rewritten) }?.code == .policyRefused)
        #expect(strict.wire.requests.isEmpty)
    }

    @Test("Tags that are written into the request do nothing")
    func forgery() async throws {
        let rig = try Rig()
        let real = try await rig.client.rewrite("https://one.test/")
        let names = ["Tag", "X-HTTPDNS-Tag", "X-HTTPDNS-Rewritten"].compactMap { HTTPField.Name($0) }
        var fields = HTTPFields()
        for name in names { fields[name] = "\(real.generation); \(real.resolveEntry); rewritten" }
        let response = try await rig.client.get("https://two.test/#rewritten=\(real.addressURL)", headerFields: fields)
        #expect(rig.provider.queries.map(\.host.description) == ["one.test", "two.test"])
        #expect(rig.wire.requests.first?.endpoints.map(\.description) == ["203.0.113.2:443"])
        #expect(response.exchanges.first?.request.host == "two.test")
    }

    @Test("Literals, localhost and names of the system resolver are pinned without a tag")
    func untagged() async throws {
        let rig = try Rig()
        for (url, source) in [
            ("http://203.0.113.77/", HTTPDNSResolver.Resolution.Source.literal), ("http://localhost/", .literal),
            ("http://sys.test/", .system),
        ] {
            let rewritten = try await rig.client.rewrite(url)
            #expect(rewritten.tag == nil && rewritten.source == source, "\(url)")
            #expect(!rewritten.addresses.isEmpty)
        }
        #expect(rig.provider.queries.isEmpty)
    }

    @Test("A call's own options win over a tag")
    func ownOptions() async throws {
        let rig = try Rig()
        let rewritten = try await rig.client.rewrite("https://one.test/")
        let response = try await rig.client.execute(rewritten) { $0.addresses = .only(["203.0.113.99"]) }
        #expect(rig.wire.requests.first?.endpoints.map(\.description) == ["203.0.113.99:443"])
        #expect(response.exchanges.first?.request.source == .request)
    }

    @Test("A client that is switched off ignores a tag")
    func killSwitch() async throws {
        let first = try Rig()
        let second = try Rig { $0.isEnabled = false }
        second.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 60)]), for: try HTTPDNSName("one.test"))
        let response = try await second.client.execute(try await first.client.rewrite("https://one.test/"))
        #expect(response.exchanges.first?.request.source == .system)
        #expect(response.exchanges.first?.request.tag == nil)
    }

    @Test("Another client's rewriter installed twice rewrites once and asks one provider")
    func installedTwice() async throws {
        let outer = try Rig()
        let inner = try Rig { $0.networkInterceptors = [outer.client.rewriter, outer.client.rewriter] }
        let response = try await inner.client.get("https://one.test/")
        #expect(outer.provider.queries.count == 1 && inner.provider.queries.isEmpty)
        #expect(inner.wire.requests.count == 1)
        #expect(response.exchanges.map(\.request.tag?.isValid) == [true])
    }

    @Test("A tag for one host does not serve another, and a second next starts without it")
    func boundToHost() async throws {
        let seen = Journal<String>()
        let outer = try Rig()
        let inner = try Rig { configuration in
            configuration.networkInterceptors = [
                Around { request, context, next in
                    _ = try await next(request, context)
                    seen.write(context.tag == nil ? "untagged" : "tagged")
                    return try await next(request, context)
                },
                outer.client.rewriter,
                Around { request, context, next in
                    seen.write(context.tag == nil ? "untagged" : "tagged")
                    var request = request
                    request.url = "https://two.test/"
                    return try await next(request, context)
                },
            ]
        }
        _ = try await inner.client.get("https://one.test/")
        #expect(seen.all == ["tagged", "untagged", "tagged"])
        #expect(inner.provider.queries.map(\.host.description) == ["two.test"])
        #expect(
            inner.wire.requests.map { $0.endpoints.map(\.description) } == [["203.0.113.2:443"], ["203.0.113.2:443"]]
        )
    }
}
