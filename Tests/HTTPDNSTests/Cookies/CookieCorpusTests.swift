// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

/// The fuzzer's corpus, see `Fuzz/README.md`.
struct CookieCorpusTests {
    @Test("Every input of the fuzzer gives a cookie that comes back as it is, or a reason")
    func corpus() throws {
        var (stored, rejected) = (0, 0)
        for (name, bytes) in try Repository.corpus("set-cookie") {
            let jar = HTTPDNSClient.CookieJar(limits: .init(), file: nil, suffixes: .missing("none"))
            let url = CookieURL(try HTTPDNSRewriter.Canonicalizer.canonicalize("https://one.test/a/b").parsed)
            if jar.store(bytes, from: url) != nil { rejected += 1 } else { stored += 1 }
            let all = CookieFileFormat.text(jar.cookies.map(\.stored))
            let content = try CookieFileFormat.cookies(in: all, of: name)
            #expect(content.damage.isEmpty, "\(name)")
            _ = try? CookieFileFormat.cookies(in: bytes, of: name)
        }
        #expect(stored >= 5 && rejected >= 5)
    }
}
