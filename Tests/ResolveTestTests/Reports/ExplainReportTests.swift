// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct ExplainReportTests {
    private func weighted() throws -> RewriteView {
        var resolution = try Samples.mapped(
            ["203.0.113.8", "203.0.113.9"],
            key: "api.shop.example:8443",
            line: 13,
            weights: [95, 5],
            port: 8443
        )
        resolution.timeToLive = .seconds(30)
        var view = Samples.rewrite(resolution)
        view.orderRule = .weights
        return view
    }

    @Test("The text of explain is that of its file")
    func golden() throws {
        try Golden.check("explain", ExplainReport(rewrite: try weighted(), providerKinds: [:], isVerbose: true).text)
    }

    @Test(
        "The chosen address is the one that answered, before the request the first",
        arguments: [(nil, false, 0), ("203.0.113.9", true, 1), (nil, true, nil)] as [(String?, Bool, Int?)]
    )
    func chosen(answered: String?, wasSent: Bool, place: Int?) throws {
        var view = Samples.rewrite(
            try Samples.mapped(["203.0.113.8", "203.0.113.9"], key: "api.shop.example", line: 1, port: 8443)
        )
        view.orderRule = .given
        view.wasSent = wasSent
        view.answered = try answered.map { try Samples.endpoints([$0], port: 8443)[0] }
        let text = ExplainReport(rewrite: view, providerKinds: [:], isVerbose: false).text(.plain)
        let marks = (0...1).map { $0 == place ? " <- chosen" : "" }
        #expect(text.contains("candidates    203.0.113.8\(marks[0])   203.0.113.9\(marks[1])   policy: "), "\(text)")
        view.orderRule = .random
        let random = ExplainReport(rewrite: view, providerKinds: [:], isVerbose: false).text(.plain)
        #expect(random.contains("   (random: drawn for each request)   ") && !random.contains("<- chosen"))
    }

    @Test("Networks that the request may reach are shown when they are limited")
    func reachableNetworks() throws {
        var report = ExplainReport(rewrite: try weighted(), providerKinds: [:], isVerbose: false)
        report.reachableNetworks = .publicInternet
        #expect(report.text(.plain).contains("policy: allowed (mapping), reachable: public_internet\n"))
    }

    @Test("A provider's answer has the route, the provider and earlier failures")
    func provider() throws {
        var resolution = try Samples.provided(["203.0.113.8"], port: 8443)
        resolution.failedAttempts = [
            HTTPDNSResolver.ProviderAttempt(provider: "ali", failure: "503", elapsed: .milliseconds(12))
        ]
        let text = ExplainReport(
            rewrite: Samples.rewrite(resolution),
            providerKinds: Samples.kinds,
            isVerbose: false
        ).text(.plain)
        #expect(
            text.contains(
                "why           route \"*.shop.example\" at httpdns.yaml:7 > doh backup, 8.1 ms   (ali: 503 in 12 ms)\n"
            )
        )
        #expect(text.contains("candidates    203.0.113.8   policy: allowed (provider)\n"))
    }

    @Test("Behind a proxy the curl line goes through it, without --resolve")
    func proxy() throws {
        var view = Samples.rewrite(HTTPDNSResolver.Resolution(endpoints: [], source: .proxy))
        view.resolveEntry = ""
        view.egressChoice = .proxy(try HTTPDNSClient.Proxy("http://me:canary@proxy.test:3128"))
        let report = ExplainReport(rewrite: view, providerKinds: [:], isVerbose: true)
        let text = report.text(.plain)
        #expect(
            text.hasSuffix(
                "curl          curl -g --path-as-is -x http://proxy.test:3128 -U USER:PASSWORD "
                    + "'https://api.shop.example:8443/v1?q=1'\n"
            ),
            "\(text)"
        )
        #expect(text.contains("certificate api.shop.example   through http://proxy.test:3128\n"))
        #expect(!text.contains("canary") && !text.contains("--resolve"))
        #expect(report.json().oneLine.contains("\"resolveEntry\":null"))
    }

    @Test("A proxy that gets addresses, and a Unix socket, are in the curl line")
    func otherEgress() throws {
        var view = try weighted()
        view.egressChoice = .proxy(try HTTPDNSClient.Proxy("socks5://[2001:db8::1]:1080"))
        #expect(
            CurlCommand.text(view, certificateAuthorityFile: nil)
                == "curl -g --path-as-is -x 'socks5://[2001:db8::1]:1080' "
                + "--connect-to api.shop.example:8443:203.0.113.8:8443 'https://api.shop.example:8443/v1?q=1'"
        )
        view.resolution.endpoints = []
        view.resolveEntry = ""
        view.egressChoice = .unixSocket("/run/app.sock")
        #expect(
            CurlCommand.text(view, certificateAuthorityFile: nil)
                == "curl -g --path-as-is --unix-socket /run/app.sock 'https://api.shop.example:8443/v1?q=1'"
        )
    }

    @Test("Pin names appear with -v only")
    func pinNames() throws {
        let quiet = ExplainReport(rewrite: try weighted(), providerKinds: [:], isVerbose: false)
        #expect(!quiet.text(.plain).contains(".invalid"))
        #expect(!quiet.json().indented.contains(".invalid"))
    }

    @Test("JSON has the members in alphabetical order, with null for missing ones")
    func json() throws {
        var view = try weighted()
        view.resolution.timeToLive = nil
        #expect(
            ExplainReport(rewrite: view, providerKinds: [:], isVerbose: false).json().indented == """
                {
                  "addressURL" : "https://203.0.113.8:8443/v1?q=1",
                  "addresses" : [
                    "203.0.113.8",
                    "203.0.113.9"
                  ],
                  "ageSeconds" : 0,
                  "cached" : false,
                  "failedProviders" : [

                  ],
                  "generation" : 7,
                  "host" : "api.shop.example:8443",
                  "location" : "httpdns.yaml:13",
                  "order" : "weights",
                  "originalURL" : "https://Api.Shop.example:8443/v1?q=1",
                  "provider" : null,
                  "resolveEntry" : "api.shop.example:8443:203.0.113.8,203.0.113.9",
                  "serverName" : "api.shop.example",
                  "source" : "mapping",
                  "stale" : false,
                  "tagged" : true,
                  "timeToLiveSeconds" : null
                }
                """
        )
    }

    @Test("The curl command has --connect-to for another port, the CA file and a Host")
    func curl() throws {
        var view = try weighted()
        view.resolution.endpoints = try Samples.endpoints(["2001:db8::7"], port: 9443)
        view.host = "other.test"
        #expect(
            CurlCommand.text(view, certificateAuthorityFile: "/tmp/my ca.pem") == """
                curl -g --path-as-is --connect-to 'api.shop.example:8443:[2001:db8::7]:9443' --cacert '/tmp/my ca.pem' \
                -H 'Host: other.test' 'https://api.shop.example:8443/v1?q=1'
                """
        )
    }
}
#endif
