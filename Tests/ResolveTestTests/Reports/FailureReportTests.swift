// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import HTTPDNSConfiguration
import Testing

@testable import resolve_test

struct FailureReportTests {
    private func failure() throws -> CommandFailure {
        var error = HTTPDNSClientError(
            code: .connectFailed,
            phase: .tls,
            message: "img.test: no address could be connected to:\n203.0.113.7",
            host: "img.test",
            hint: "check the mapping"
        )
        error.attempts = [
            .init(
                endpoint: HTTPDNSEndpoint(address: try Samples.address("203.0.113.7"), port: 443),
                phase: .tls,
                failure: "certificate is for other.test",
                elapsed: .milliseconds(12)
            )
        ]
        return CommandFailure(error)
    }

    @Test("A failure is one line, with the addresses for -v only")
    func text() throws {
        let line = "resolve-test: img.test: no address could be connected to:\\n203.0.113.7 (check the mapping)\n"
        #expect(FailureReport.text(try failure(), isVerbose: false, style: .plain) == line)
        #expect(
            FailureReport.text(try failure(), isVerbose: true, style: .plain)
                == line + "  203.0.113.7:443 tls: certificate is for other.test (12 ms)\n"
        )
    }

    @Test("Attempts that an error left out are counted in their place")
    func leftOut() throws {
        var failure = try failure()
        failure.attempts += failure.attempts
        failure.attemptsLeftOut = 9
        let attempt = "  203.0.113.7:443 tls: certificate is for other.test (12 ms)\n"
        let text = FailureReport.text(failure, isVerbose: true, style: .plain)
        #expect(text.hasSuffix(attempt + "  (9 attempts left out)\n" + attempt), "\(text)")
        #expect(FailureReport.json(failure).oneLine.contains("\"attemptsLeftOut\":9,"))
    }

    @Test("A failure in JSON is one object with all that a program needs")
    func json() throws {
        #expect(
            FailureReport.json(try failure()).oneLine == """
                {"error":{"attempts":[{"address":"203.0.113.7","failure":"certificate is for other.test",\
                "phase":"tls","port":443,"seconds":0.012}],"code":"connect-failed","exitStatus":1,\
                "hint":"check the mapping","host":"img.test",\
                "message":"img.test: no address could be connected to:\\n203.0.113.7","phase":"tls","reason":null,\
                "requestMayHaveBeenSent":false}}
                """
        )
    }

    @Test(
        "Invalid input exits with 2, and a failure with 1",
        arguments: [
            (HTTPDNSClientError.Code.invalidURL, Int32(2)), (.invalidRequest, 2), (.configuration, 2),
            (.resolveFailed, 1), (.policyRefused, 1), (.certificateRefused, 1), (.timedOut, 1), (.protocolViolation, 1),
        ]
    )
    func exitStatus(code: HTTPDNSClientError.Code, status: Int32) {
        #expect(CommandFailure(HTTPDNSClientError(code: code, phase: .request, message: "m")).exitStatus == status)
    }
}
#endif
