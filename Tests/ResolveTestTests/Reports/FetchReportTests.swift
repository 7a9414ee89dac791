// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct FetchReportTests {
    private func hop() throws -> FetchReport.Hop {
        FetchReport.Hop(
            rewrite: Samples.rewrite(try Samples.provided(["203.0.113.8"], port: 8443)),
            remote: HTTPDNSEndpoint(address: try Samples.address("203.0.113.8"), port: 8443),
            reusedConnection: false,
            version: "HTTP/2",
            tls: .init(version: "TLSv1.3", cipherSuite: "TLS_AES_128_GCM_SHA256"),
            status: 200,
            contentType: "image/jpeg",
            location: nil,
            resolve: .microseconds(8100),
            timings: HTTPDNSClient.Exchange.Timings(
                connect: .microseconds(300),
                tls: .milliseconds(21),
                firstByte: .microseconds(9400),
                total: .microseconds(33_800)
            )
        )
    }

    private func report(_ hop: FetchReport.Hop) -> FetchReport {
        FetchReport(
            hops: [hop],
            bodyBytes: 48_210,
            wireBytes: 12_000,
            total: .microseconds(42_000),
            headerFields: nil,
            providerKinds: Samples.kinds
        )
    }

    @Test("Each phase is a bar that begins where the one before it ended")
    func text() throws {
        #expect(
            report(try hop()).text(.plain) == """
                hop 1  https://Api.Shop.example:8443/v1?q=1 -> 200, HTTP/2, 48,210 bytes, image/jpeg
                       resolve     ####                  8.1 ms   doh backup, fresh, 41 s left
                       connect         #                 0.3 ms   203.0.113.8:8443
                       tls             ##########       21.0 ms   SNI api.shop.example, certificate verified
                       first byte                #####   9.4 ms   200, HTTP/2
                       body                           #  3.1 ms   48,210 bytes, 12,000 bytes on the wire
                ok total  42.0 ms   1 of 1 names queried   certificate verified

                """
        )
    }

    @Test("The text of fetch is that of its file")
    func golden() throws {
        var redirect = try hop()
        (redirect.status, redirect.location) = (302, "https://cdn.shop.example/a.jpg")
        var report = report(try hop())
        report.hops.insert(redirect, at: 0)
        try Golden.check("fetch", report.text)
    }

    /// Nor are all hops when one is not.
    @Test("A certificate that was not verified is never called verified")
    func unverified() throws {
        var hop = try hop()
        hop.isVerified = false
        let text = report(hop).text(.plain)
        #expect(text.contains("SNI api.shop.example, certificate NOT verified\n"))
        #expect(text.hasSuffix("1 of 1 names queried   certificate NOT verified\n"))
        #expect(!text.contains("certificate verified"))
        var both = report(hop)
        both.hops.append(try self.hop())
        #expect(both.text(.plain).hasSuffix("   certificate NOT verified on 1 of 2 TLS hops\n"))
        both.hops[0].isVerified = true
        #expect(both.text(.plain).hasSuffix("   certificate verified on every TLS hop\n"))
    }

    @Test("On a narrow screen the remarks have lines of their own")
    func narrow() throws {
        let text = report(try hop()).text(Screen(width: 60, style: .plain))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains("         SNI api.shop.example, certificate verified"))
        #expect(lines.dropFirst().allSatisfy { $0.count <= 60 })
    }

    @Test("A reused connection has neither connect nor TLS time, in text and JSON")
    func reused() throws {
        var hop = try hop()
        hop.reusedConnection = true
        hop.timings.connect = nil
        hop.timings.tls = nil
        let report = report(hop)
        #expect(report.text(.plain).contains("203.0.113.8:8443, reused connection"))
        let timings = #""timings":{"connect":null,"firstByte":0.0094,"resolve":0.0081,"tls":null,"total":0.042}"#
        #expect(report.json().oneLine.contains(timings))
    }

    @Test("The JSON has the members of explain and those of the response")
    func json() throws {
        #expect(
            report(try hop()).json().oneLine == """
                {"addressURL":"https://203.0.113.8:8443/v1?q=1","addresses":["203.0.113.8"],"ageSeconds":0,\
                "bodyBytes":48210,"cache":null,"cached":false,"failedProviders":[],"generation":1,"headerFields":null,\
                "hops":[{"droppedFields":[],"location":null,"remoteAddress":"203.0.113.8","status":200,\
                "url":"https://Api.Shop.example:8443/v1?q=1"}],"host":"api.shop.example:8443",\
                "httpVersion":"HTTP/2","location":null,"order":null,"originalURL":"https://Api.Shop.example:8443/v1?q=1",\
                "provider":"backup","remoteAddress":"203.0.113.8",\
                "resolveEntry":"api.shop.example:8443:203.0.113.8,203.0.113.9","serverName":"api.shop.example",\
                "source":"provider","stale":false,"status":200,"tagged":true,"timeToLiveSeconds":40.98,\
                "timings":{"connect":0.0003,"firstByte":0.0094,"resolve":0.0081,"tls":0.021,"total":0.042},\
                "tlsCipherSuite":"TLS_AES_128_GCM_SHA256","tlsVersion":"TLSv1.3","wireBytes":12000}
                """
        )
    }

    @Test(
        "The last line begins with ok, or with the status from 400 on",
        arguments: [(200, "ok total"), (302, "ok total"), (404, "404 total"), (503, "503 total")]
    )
    func mark(status: Int, begin: String) throws {
        var hop = try hop()
        hop.status = status
        let text = report(hop).text(.plain)
        #expect(text.split(separator: "\n").last?.hasPrefix("\(begin)  42.0 ms   ") == true, "\(text)")
        // A name counts once, and a mapping is no query.
        var mapped = hop
        mapped.rewrite.resolution = try Samples.mapped(["203.0.113.8"], key: "api.shop.example", line: 1)
        mapped.rewrite.urlHost = "cdn.shop.example"
        var several = report(hop)
        several.hops += [hop, mapped]
        #expect(several.text(.plain).contains("   1 of 2 names queried   "))
    }

    private func failed(_ phase: String) throws -> FetchReport {
        var hop = try hop()
        (hop.status, hop.version, hop.contentType, hop.timings.firstByte) = (0, "", nil, nil)
        if phase != "first-byte" { (hop.remote, hop.timings.connect, hop.timings.tls) = (nil, nil, nil) }
        hop.failed = .init(phase: phase, elapsed: .milliseconds(972))
        var report = report(hop)
        report.failed = .init(phase: phase, elapsed: .milliseconds(980))
        return report
    }

    @Test("A call that failed has the phases so far, and the time of the failed one")
    func failures() throws {
        #expect(
            try failed("first-byte").text(.plain) == """
                hop 1  https://Api.Shop.example:8443/v1?q=1 -> no response
                       resolve     #                      8.1 ms   doh backup, fresh, 41 s left
                       connect     #                      0.3 ms   203.0.113.8:8443
                       tls         #                     21.0 ms   SNI api.shop.example, certificate verified
                       first byte   ################### 972.0 ms   no response
                x failed in first-byte after 980.0 ms

                """
        )
        #expect(
            try failed("connect").text(.plain) == """
                hop 1  https://Api.Shop.example:8443/v1?q=1 -> no response
                       resolve  #                      8.1 ms   doh backup, fresh, 41 s left
                       connect  #################### 972.0 ms   203.0.113.8:8443
                x failed in connect after 980.0 ms

                """
        )
        var redirect = try failed("redirect")
        redirect.hops = [try hop()]
        #expect(redirect.text(.plain).contains("   200, HTTP/2\nx failed in redirect after 980.0 ms\n"))
        redirect.hops = []
        #expect(redirect.text(.plain) == "")
    }

    @Test("A server's text moves no cursor")
    func hostile() throws {
        var hop = try hop()
        hop.contentType = "text/\u{1B}[2Jhtml"
        #expect(!report(hop).text(.plain).contains("\u{1B}"))
        hop.status = 302
        hop.location = "https://evil.test/\r\n\u{1B}]0;x\u{7}"
        #expect(!report(hop).text(.plain).contains("\u{1B}"))
        #expect(report(hop).text(.plain).contains(#"302 https://evil.test/\r\n\u{1b}]0;x\u{7}"#))
    }
}
#endif
