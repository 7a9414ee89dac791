// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import Testing

@testable import HTTPDNSCore

struct AddressInfoErrorTests {
    @Test(
        "Each error has its meaning and advice",
        arguments: [
            (EAI_NONAME, .nameNotFound, "mapping"), (-5, .noAddresses, "other family"),
            (-9, .noAddresses, "other family"), (EAI_AGAIN, .failed, "/etc/resolv.conf"),
            (EAI_FAIL, .failed, "/etc/resolv.conf"), (EAI_MEMORY, .failed, "memory"),
            (EAI_SYSTEM, .failed, "Too many open files"), (12345, .failed, "/etc/resolv.conf"),
        ] as [(Int32, SystemResolverError.Code, String)]
    )
    func meaning(status: Int32, code: SystemResolverError.Code, advice: String) throws {
        let error = AddressInfoError.error(status: status, systemError: EMFILE, host: try HTTPDNSName("one.test"))
        #expect(error.code == code)
        #expect(error.message.hasPrefix("the system resolver has no address for one.test: "))
        #expect(error.message.contains(advice))
    }
}
