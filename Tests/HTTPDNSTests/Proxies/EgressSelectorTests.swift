// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

struct EgressSelectorTests {
    private func choice(
        _ configuration: HTTPDNSClient.Configuration,
        _ options: HTTPDNSClient.Request.Options,
        _ url: String
    ) throws
        -> String
    {
        switch try EgressSelector(configuration).choice(
            of: HTTPDNSClient.Request(url: url, options: options),
            for: HTTPDNSRewriter.Canonicalizer.canonicalize(url)
        ) {
        case .direct: "direct"
        case .proxy(let proxy): "\(proxy)"
        case .unixSocket(let path): path
        }
    }

    @Test("A request's own proxy setting wins, and the environment counts only when asked")
    func precedence() throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.environment = { ["https_proxy": "http://env.test:1"][$0] }
        var options = HTTPDNSClient.Request.Options()
        let url = "https://one.test/"
        #expect(try choice(configuration, options, url) == "direct")
        options.proxy = .environment
        #expect(try choice(configuration, options, url) == "http://env.test:1")
        configuration.proxy = .through(
            try HTTPDNSClient.Proxy("http://mine.test:2"),
            except: try HTTPDNSClient.Proxy.Exceptions(["two.test"])
        )
        options = HTTPDNSClient.Request.Options(configuration.options)
        #expect(try choice(configuration, options, url) == "http://mine.test:2")
        #expect(try choice(configuration, options, "https://two.test/") == "direct")
        options.proxy = .off
        #expect(try choice(configuration, options, url) == "direct")
        options.unixSocket = "/run/one.sock"
        #expect(try choice(configuration, options, url) == "/run/one.sock")
        configuration.proxy = .off
        configuration.unixSocket = "/run/all.sock"
        options = HTTPDNSClient.Request.Options(configuration.options)
        #expect(try choice(configuration, options, url) == "/run/all.sock")
        options.proxy = .environment
        #expect(try choice(configuration, options, url) == "http://env.test:1")
        (options.proxy, options.unixSocket) = (.off, nil)
        #expect(try choice(configuration, options, url) == "direct")
    }

    @Test("The preferred address of a proxy is tried first, and those before it last")
    func remembered() throws {
        let ways = EgressSelector(HTTPDNSClient.Configuration())
        let proxy = try HTTPDNSClient.Proxy("https://proxy.test:3")
        let endpoints = (1...3).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, $0), port: 3) }
        #expect(ways.ordered(endpoints, of: proxy) == endpoints)
        ways.prefer(endpoints[1], of: proxy)
        #expect(ways.ordered(endpoints, of: proxy) == [endpoints[1], endpoints[2], endpoints[0]])
        ways.prefer(endpoints[2], of: proxy)
        #expect(ways.ordered(endpoints, of: proxy) == [endpoints[2], endpoints[0], endpoints[1]])
        #expect(ways.ordered(Array(endpoints.prefix(2)), of: proxy) == Array(endpoints.prefix(2)))
    }

    @Test("Contradictory settings, and those too long for the system, are refused")
    func validation() throws {
        func refuses(_ change: (inout HTTPDNSClient.Configuration) throws -> Void) throws -> Bool {
            var configuration = HTTPDNSClient.Configuration()
            try change(&configuration)
            return (try? configuration.validate()) == nil
        }
        #expect(try !refuses { _ in })
        #expect(try refuses { $0.unixSocket = "" })
        #expect(try refuses { $0.unixSocket = "/" + String(repeating: "x", count: 107) })
        #expect(try !refuses { $0.unixSocket = "/" + String(repeating: "x", count: 106) })
        #expect(
            try refuses {
                $0.unixSocket = "/run/a"
                $0.proxy = .through(try HTTPDNSClient.Proxy("http://proxy.test"))
            }
        )
        #expect(try refuses { $0.localSource = .interface("an-interface-too-long") })
        #expect(try refuses { $0.localSource = .interface("eth 0") })
        #expect(try !refuses { $0.localSource = .interface("eth0") })
        #expect(
            try refuses {
                var proxy = try HTTPDNSClient.Proxy("http://proxy.test")
                proxy.credential = HTTPDNSClient.Proxy.Credential(user: "a:b", password: nil)
                $0.proxy = .through(proxy)
            }
        )
    }

    /// Nothing is sent when it has a mistake.
    @Test("A request's own proxy is checked as the client's is")
    func ownProxy() async throws {
        let rig = try Rig()
        var withColon = try HTTPDNSClient.Proxy("http://proxy.test:3128")
        withColon.credential = HTTPDNSClient.Proxy.Credential(user: "me:too", password: nil)
        let withoutPort = HTTPDNSClient.Proxy(.socks5h, host: .address(HTTPDNSAddress(v4: 192, 0, 2, 1)), port: 0)
        for (proxy, says) in [(withColon, "colon"), (withoutPort, "port 0")] {
            var request = HTTPDNSClient.Request(url: "https://one.test/")
            request.changeOptions { $0.proxy = .through(proxy) }
            let error = await clientError { try await rig.client.execute(request) }
            #expect(error?.code == .invalidRequest && error?.message.contains(says) == true, "\(error as Any)")
            let exceptions = try HTTPDNSClient.Proxy.Exceptions(["one.test"])
            request.changeOptions { $0.proxy = .through(proxy, except: exceptions) }
            #expect(await clientError { try await rig.client.execute(request) }?.code == .invalidRequest)
        }
        #expect(rig.wire.requests.isEmpty)
    }
}
