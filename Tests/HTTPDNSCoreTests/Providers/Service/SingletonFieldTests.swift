// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNSCore

struct SingletonFieldTests {
    private func fields(_ name: HTTPField.Name, _ values: [String]) -> HTTPFields {
        HTTPFields(values.map { HTTPField(name: name, value: $0) })
    }

    @Test(
        "Equal values of a field count as one",
        arguments: [
            HTTPField.Name.contentType, .retryAfter, .contentRange, .eTag, .age, .location, .contentLength,
            .lastModified,
            .date, .expires, .contentLocation,
        ]
    )
    func equal(name: HTTPField.Name) {
        #expect(HTTPFields().singleton(name) == nil)
        for count in 1...3 {
            let fields = fields(name, Array(repeating: "a/b", count: count))
            #expect(fields.singleton(name)?.value == "a/b" && !fields.contradicts(name))
        }
    }

    @Test(
        "Of differing values the rule of the field decides",
        arguments: [
            (HTTPField.Name.age, "1"), (.date, "1"), (.expires, "1"), (.eTag, nil), (.lastModified, nil),
            (.location, nil),
            (.contentRange, nil), (.contentLength, nil), (.contentLocation, nil),
        ] as [(HTTPField.Name, String?)]
    )
    func differing(name: HTTPField.Name, value: String?) {
        let fields = fields(name, ["1", "1", "2"])
        #expect(fields.singleton(name)?.value == value && fields.contradicts(name))
    }

    @Test("Values that differ in one byte outside UTF-8 are not equal")
    func bytes() {
        let tags: [[UInt8]] = [[0x22, 0xf6, 0x22], [0x22, 0xe4, 0x22]]
        let fields = HTTPFields(tags.map { HTTPField(name: .eTag, lenientValue: $0) })
        #expect(fields.singleton(.eTag) == nil)
    }

    @Test(
        "The last media type counts, of fields and of a list",
        arguments: [
            (["text/html", "application/json"], "application/json"),
            (["text/html, application/json"], "application/json"),
            (["text/html; charset=utf-8", "text/html"], "text/html; charset=utf-8"),
            (["text/html; charset=utf-8, text/html; charset=utf-8"], "text/html; charset=utf-8"),
            (["text/html", "Text/HTML; charset=a"], "Text/HTML; charset=a"), (["a/b; c=\"d,e/f\""], "a/b; c=\"d,e/f\""),
            (["a/b; c=\"\\\",x/y\"", "junk", "*/*", ""], "a/b; c=\"\\\",x/y\""), (["junk", "more"], "junk"),
        ]
    )
    func mediaType(values: [String], type: String) {
        #expect(fields(.contentType, values).singleton(.contentType)?.value == type)
    }

    @Test("A value that is no UTF-8 is a URI reference with its bytes percent-encoded")
    func reference() {
        for (bytes, text) in [
            ([0x2f, 0xe9] as [UInt8], "/%E9"), ([0x2f, 0xc3, 0xa9], "/\u{e9}"),
            ([0x2f, 0xc3, 0xa9, 0xff], "/%C3%A9%FF"),
        ] {
            #expect(HTTPField(name: .location, lenientValue: bytes).uriReference == text)
        }
    }
}
