// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Testing

@testable import HTTPDNSResponseCache

struct CacheControlTests {
    private func control(_ values: String...) -> CacheControl {
        var fields: HTTPFields = [:]
        for value in values { fields.append(HTTPField(name: .cacheControl, value: value)) }
        return CacheControl(fields)
    }

    @Test(
        "A number of seconds is read in all spellings that are permitted",
        arguments: [
            ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("a=\"x, max-age=9\", max-age=60", 60),
            ("max-age=60, max-age=30", 30), (" , max-age=060 ,", 60),
            ("max-age=99999999999999999999", 2_147_483_648),
        ]
    )
    func seconds(_ value: String, _ expected: Int64) {
        #expect(control(value).maximumAge == .value(expected))
    }

    @Test(
        "An invalid number of seconds makes a response stale",
        arguments: ["max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age='60'", "max-age= 60", "max-age=60s"]
    )
    func invalid(_ value: String) {
        #expect(control(value).maximumAge == .invalid)
    }

    @Test("The directives of all fields count, without case")
    func directives() {
        let control = control("No-Store, private=\"x\"", "must-revalidate,IMMUTABLE", "max-stale")
        #expect(control.isNoStore && control.isPrivate && control.mustRevalidate && control.isImmutable)
        #expect(control.maximumStale == .value(.max))
        #expect(!control.isPublic && !control.isNoCache && control.maximumAge == nil)
    }
}
