// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import HTTPDNSCore
import Testing

#if YAML
struct ManyMistakesTests {
    private func mistakes(_ text: String) -> HTTPDNSConfigurationFileError? {
        do {
            _ = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
            return nil
        } catch {
            return error
        }
    }

    @Test("Twenty errors are listed in the order of the file, with a count of the rest")
    func moreThanTwenty() throws {
        let text = "version: 1\nmappings:\n" + (0..<23).map { "  n\($0).example: here!\n" }.joined()
        let error = try #require(mistakes(text + "cache: { entries: 0 }\n"))
        #expect(error.issues.map(\.location.line) == Array(3..<23))
        #expect(error.omitted == 4)
        #expect(error.description.hasSuffix("\nand 4 more errors"))
    }

    @Test("Errors of all sections are reported together, sorted by location")
    func allParts() throws {
        let error = try #require(
            mistakes(
                "client: { versions: 3 }\nversion: 1\nroutes: { a.example: x }\nmappings: { a.example: x!, b..c: system }\n"
            )
        )
        #expect(
            error.issues.map(\.location.description) == [
                "f.yaml:1:21", "f.yaml:3:22", "f.yaml:4:24", "f.yaml:4:28",
            ]
        )
    }

    @Test(
        "An invalid name is reported with the reason that the name itself gives",
        arguments: ["a..b", "a b", "1.2.3", "a;b"]
    )
    func names(name: String) throws {
        let reason: String
        do {
            reason = "\(try HTTPDNSName(name)) is a name"
        } catch {
            reason = error.reason
        }
        let error = try #require(mistakes("version: 1\nmappings: { \"\(name)\": system }\n"))
        #expect(error.description == "f.yaml:2:13: mappings: \"\(name)\" is not a host name: \(reason)")
    }

    @Test("An error that only the mappings detect is reported with its location")
    func chain() throws {
        let lines = (0..<40).map { "  n\($0).example: { via: n\($0 + 1).example }\n" }
        let error = try #require(mistakes("version: 1\nmappings:\n" + lines.joined()))
        #expect(error.issues.count == 1)
        #expect(error.issues[0].location.line == 3)
        #expect(error.issues[0].message.hasPrefix("mappings[\"n0.example\"]: "))
    }

    @Test("A key with many duplicates is reported with every location")
    func duplicates() throws {
        let lines = (0..<15).map { "  a.example: 203.0.113.\($0)\n" }
        let error = try #require(mistakes("version: 1\nmappings:\n" + lines.joined() + "cache: { entries: 0 }\n"))
        #expect(error.issues.map(\.location.line) == Array(4..<19))
        #expect(error.issues[0].message == "mappings[\"a.example\"] is the same name as on line 3: a.example")
        #expect(error.issues[14].message.hasPrefix("cache.entries: "))
    }

    @Test("More duplicates than are listed still give an error with locations")
    func tooManyDuplicates() throws {
        let lines = (0..<50).map { "  a.example: 203.0.113.\($0)\n" }
        let error = try #require(mistakes("version: 1\nmappings:\n" + lines.joined()))
        #expect(error.issues.map(\.location.line) == Array(4..<24))
        #expect(error.issues[0].message == "mappings[\"a.example\"] is the same name as on line 3: a.example")
        #expect(error.omitted == 29)
    }

    @Test("A duplicate key without letters is an error too")
    func emptyKeys() throws {
        let error = try #require(mistakes("version: 1\n\"\": x\n\"\": y\n"))
        #expect(error.issues.map(\.location.description) == ["f.yaml:2:1", "f.yaml:3:1"])
        #expect(error.issues[1].message == "\"\" is written twice: it is on line 2 already")
    }

    @Test("Each of several duplicate keys is reported with its location")
    func twoKeysTwice() throws {
        let keys = [":8443", "b.example", ":8443", "b.example"]
        let error = try #require(mistakes("version: 1\nmappings:\n" + keys.map { "  \($0): system\n" }.joined()))
        #expect(error.issues.map(\.location.line) == [3, 5, 6])
        #expect(error.issues[2].message == "mappings[\"b.example\"] is the same name as on line 4: b.example")
    }

    @Test("Equal keys that are not scalars are an error too", arguments: ["[a]", "{a: b}"])
    func complexKeys(key: String) throws {
        let error = try #require(
            mistakes("version: 1\nmappings:\n  ? \(key)\n  : system\n  ? \(key)\n  : system\n")
        )
        #expect(error.issues.count >= 1)
        #expect(error.issues.allSatisfy { $0.location.line != nil })
    }
}
#endif
