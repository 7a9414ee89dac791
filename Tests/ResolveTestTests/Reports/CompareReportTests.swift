// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct CompareReportTests {
    private func hijacked() throws -> Comparison {
        var comparison = Comparison(
            host: try HTTPDNSName("img.shop.example"),
            port: 443,
            client: .resolved(try Samples.provided(["203.0.113.7"])),
            system: .system([try Samples.address("198.51.100.66")], port: 443)
        )
        comparison.isProbed = true
        let endpoints = comparison.endpoints
        comparison.proofs = [
            endpoints[0]: .verified(.microseconds(8_100)),
            endpoints[1]: .refused("certificate is for *.parking.example"),
        ]
        return comparison
    }

    @Test("An answer of the system that cannot prove the name is suspicious, and no failure")
    func probed() throws {
        let report = CompareReport(comparisons: [try hijacked()], isStrict: false)
        #expect(report.isSuspicious && report.failure == nil)
    }

    @Test("The text of compare is that of its file")
    func golden() throws {
        try Golden.check("compare", CompareReport(comparisons: [try hijacked()], isStrict: false).text)
    }

    /// The name is on top where nothing was probed.
    @Test("The report has a table for each host, and names the hosts without an answer")
    func several() throws {
        let mapped = Comparison(
            host: try HTTPDNSName("api.shop.example"),
            port: 443,
            client: .resolved(
                try Samples.mapped(["203.0.113.8", "2001:db8::8"], key: "api.shop.example", line: 3, port: 8443)
            ),
            system: .system([try Samples.address("203.0.113.8")], port: 443)
        )
        let absent = Comparison(
            host: try HTTPDNSName("new.shop.example"),
            port: 443,
            client: .resolved(try Samples.provided(["203.0.113.9"])),
            system: .nothing("name not found")
        )
        let unrouted = Comparison(
            host: try HTTPDNSName("www.example"),
            port: 443,
            client: .notAsked("no route leads www.example to a provider"),
            system: .system([try Samples.address("203.0.113.10")], port: 443)
        )
        var report = CompareReport(comparisons: [mapped, absent, unrouted], isStrict: false)
        #expect(
            report.text(.plain) == """
                api.shop.example    this client    system
                203.0.113.8:8443    yes, mapping   -
                [2001:db8::8]:8443  yes, mapping   -
                203.0.113.8         -              yes
                differs: normal for a CDN; --probe checks that each address proves the name

                new.shop.example  HTTP-DNS       system
                203.0.113.9       yes, 41 s      -
                (none)            -              name not found
                differs: the system resolver has no address, so only HTTP-DNS answers

                www.example      HTTP-DNS       system
                203.0.113.10     -              yes
                (none)           not asked      -
                not compared: no route leads www.example to a provider

                """
        )
        #expect(!report.isSuspicious)
        #expect(report.failure?.message == "no verdict on 1 of 3 hosts: www.example")
        report.isJSON = true
        let failure = try #require(report.failure)
        #expect(
            failure.message
                == "no verdict on 1 of 3 hosts: www.example: not compared: no route leads www.example to a provider"
        )
        #expect(failure.hint == "--public asks public HTTP-DNS; or --doh URL, --config FILE with a route")
        #expect(failure.exitStatus == ExitStatus.failed)
    }

    @Test("The JSON is one line for each host")
    func json() throws {
        let report = CompareReport(comparisons: [try hijacked()], isStrict: false)
        #expect(
            report.json() == """
                {"client":{"addresses":["203.0.113.7"],"ageSeconds":0,"cached":false,"error":null,"generation":1,\
                "provider":"backup","source":"provider","stale":false,"timeToLiveSeconds":40.98},\
                "host":"img.shop.example","port":443,"probes":[{"address":"203.0.113.7","reason":null,\
                "result":"verified","seconds":0.0081},{"address":"198.51.100.66",\
                "reason":"certificate is for *.parking.example","result":"refused","seconds":null}],\
                "suspicious":true,"system":{"addresses":["198.51.100.66"],"error":null},\
                "text":"differs, and the system answer cannot prove the name: hijack suspected",\
                "verdict":"system-refused"}

                """
        )
    }

    @Test("Text from a server's certificate cannot move the cursor")
    func hostileNames() throws {
        var comparison = try hijacked()
        comparison.proofs[comparison.endpoints[1]] = .refused("certificate is for \u{1b}[2Jx")
        let text = CompareReport(comparisons: [comparison], isStrict: false).text(.plain)
        #expect(text.contains("\\u{1b}[2Jx") && !text.contains("\u{1b}"))
    }
}
#endif
