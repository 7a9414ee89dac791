// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct ResolveReportTests {
    private func report() throws -> ResolveReport {
        var provided = try Samples.provided(["203.0.113.30"])
        provided.failedAttempts = [
            HTTPDNSResolver.ProviderAttempt(provider: "ali", failure: "503", elapsed: .milliseconds(12))
        ]
        var failure = CommandFailure.failed(code: "name-not-found", "db: no such name", hint: "add a mapping")
        failure.phase = "resolve"
        failure.host = "db"
        return ResolveReport(
            rows: [
                .init(
                    question: try HostArgument("img.shop.example"),
                    outcome: .success(
                        try Samples.mapped(["203.0.113.7", "2001:db8::7"], key: "img.shop.example", line: 12)
                    )
                ),
                .init(question: try HostArgument("Pay.shop.example"), outcome: .success(provided)),
                .init(question: try HostArgument("db"), outcome: .failure(failure)),
            ],
            providerKinds: Samples.kinds
        )
    }

    @Test("The text of resolve is that of its file")
    func golden() throws {
        try Golden.check("resolve", try report().text)
    }

    @Test("Each host is one line of JSON, failed ones too, with keys in alphabetical order")
    func json() throws {
        let lines = try report().json().split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines[1] == """
                {"addresses":["203.0.113.30"],"ageSeconds":0,"cached":false,"canonicalName":null,\
                "extendedErrors":[],"failedProviders":[{"failure":"503","provider":"ali","seconds":0.012}],"generation":1,\
                "host":"pay.shop.example","location":null,"port":443,"provider":"backup","seconds":0.0081,\
                "source":"provider","stale":false,"timeToLiveSeconds":40.98}
                """
        )
        #expect(
            lines[2] == """
                {"addresses":[],"error":{"code":"name-not-found","message":"db: no such name","reason":null},\
                "host":"db","port":443}
                """
        )
    }

    @Test("One failed host is its own error; several are counted and named on one line")
    func failure() throws {
        var report = try report()
        #expect(report.failure?.message == "db: no such name")
        report.rows.append(
            .init(question: try HostArgument("dc"), outcome: .failure(.failed(code: "name-not-found", "dc: no")))
        )
        let failure = try #require(report.failure)
        #expect(failure.message == "2 of 4 hosts have no address: db, dc; db: no such name")
        #expect(failure.exitStatus == 1)
        report.rows.removeLast(2)
        #expect(report.failure == nil)
    }
}
#endif
