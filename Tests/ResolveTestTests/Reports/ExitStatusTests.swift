// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

@testable import resolve_test

struct ExitStatusTests {
    private static func error(_ code: HTTPDNSClientError.Code, _ failure: TransferFailure? = nil) -> HTTPDNSClientError
    {
        var error = HTTPDNSClientError(code: code, phase: .body, message: "m")
        error.underlying = failure
        return error
    }

    private static func failure(_ code: TransferFailure.Code, _ curlCode: Int32 = 0) -> TransferFailure {
        var failure = TransferFailure(code: code, phase: .body, message: "m")
        failure.curlCode = curlCode
        return failure
    }

    static let statuses: [(HTTPDNSClientError, Int32?)] = [
        (error(.resolveFailed), 6), (error(.connectFailed), 7), (error(.connectFailed, failure(.connectFailed, 7)), 7),
        (error(.connectFailed, failure(.tlsFailed, 35)), 35),
        (error(.connectFailed, failure(.clientCertificateRefused, 56)), 35), (error(.certificateRefused), 60),
        (error(.certificateRefused, failure(.certificateRefused, 90)), 90), (error(.timedOut), 28),
        (error(.connectionLost, failure(.connectionLost, 52)), 52),
        (error(.connectionLost, failure(.connectionLost, 18)), 18), (error(.connectionLost), 56),
        (error(.connectionLost, failure(.connectionLost, 43)), 56), (error(.tooManyRedirects), 47),
        (error(.redirectLoop), 47), (error(.redirectRefused), 1), (error(.responseTooLarge), 63),
        (error(.decodingFailed), 61), (error(.requestBodyFailed), 26), (error(.localSourceUnusable), 45),
        (error(.proxyUnreachable), 7), (error(.proxyUnreachable, failure(.proxyUnreachable, 97)), 97),
        (error(.proxyRefused), 56), (error(.authenticationFailed), 94), (error(.policyRefused), nil),
        (error(.limitReached), nil), (error(.transportFailed), nil),
        (error(.transportFailed, failure(.transport, 92)), 92),
    ]

    @Test("An error has the exit status that curl has for this meaning", arguments: statuses.indices)
    func table(index: Int) {
        let (error, status) = Self.statuses[index]
        #expect(CurlExitStatus.status(of: error) == status, "\(error)")
    }

    @Test("Only fetch uses curl's exit statuses")
    func others() {
        var failure = CommandFailure(Self.error(.timedOut))
        #expect(failure.exitStatus == 1)
        failure.usesCurlStatus = true
        #expect(failure.exitStatus == 28)
        failure.kind = .usage
        #expect(failure.exitStatus == 2)
    }

    @Test("Every status of the code is in the table of the documentation")
    func documented() throws {
        let page = try Repository.text("Docs/CommandLine.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { row in
            row.split(separator: "|").first.map { $0.split { !$0.isNumber }.compactMap { Int32($0) } }
        }
        let listed = Set(rows.joined())
        #expect(listed.isSuperset(of: Self.statuses.compactMap(\.1)))
        #expect(listed.isSuperset(of: [0, 1, 2, 3, 5, 8, 16, 22, 23, 33, 55, 129, 130, 141, 143]))
    }
}
#endif
