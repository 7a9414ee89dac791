// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
/// Each case is a file and the exact text of its error.
struct SyntaxMistakeTests {
    /// The text is not YAML, or more YAML than is supported.
    @Test(
        "A YAML error shows its location and the text to write instead",
        arguments: MistakeCase.table(
            """
            === Only comments
            # httpdns

            # later
            =>
            f.yaml:1:1: the file is empty or holds only comments (the smallest configuration is: version: 1)
            === Only a document mark
            ---
            =>
            f.yaml:1:1: the file is empty or holds only comments (the smallest configuration is: version: 1)
            == A tab as indentation
            mappings:
            \timg.shop.example: 203.0.113.7
            =>
            f.yaml:3:1: found a tab in the indentation; allowed: spaces
            == A tab after the indentation
            cache:
              ttl: { min: 1s }
            \tentries: 5
            =>
            f.yaml:4:1: found a tab in the indentation; allowed: spaces
            == Unquoted * in routes
            routes:
              *.shop.example: system
            =>
            f.yaml:3:3: an unquoted * begins a YAML alias, which is not supported (put it in quotes: "*.shop.example")
            == Unquoted * alone
            routes:
              *: system
            =>
            f.yaml:3:3: an unquoted * begins a YAML alias, which is not supported (put it in quotes: "*")
            == Unquoted * without a dot
            routes:
              *shop: system
            =>
            f.yaml:3:3: an unquoted * begins a YAML alias, which is not supported (put it in quotes: "*shop")
            == Unquoted [::1]
            mappings:
              img.shop.example: [::1]
            =>
            f.yaml:3:21: an unquoted [ begins a YAML list, and this is not one (put IPv6 addresses with brackets in \
            quotes: "[::1]")
            == Unquoted [::1] with a port
            mappings:
              img.shop.example: [2001:db8::7]:8443
            =>
            f.yaml:3:21: an unquoted [ begins a YAML list, and this is not one (put IPv6 addresses with brackets in \
            quotes: "[2001:db8::7]:8443")
            == Unquoted [2001:db8::7]:8443 in a list
            mappings:
              img.shop.example: [203.0.113.7, [2001:db8::7]:8443]
            =>
            f.yaml:3:35: mappings["img.shop.example"]: found a mapping; allowed: an address (put IPv6 with a port in \
            quotes: "[2001:db8::7]:8443")
            == Unquoted [::1]:8443 in a list
            mappings:
              img.shop.example: [203.0.113.7, [::1]:8443]
            =>
            f.yaml:3:35: an unquoted [ begins a YAML list, and this is not one (put IPv6 addresses with brackets in \
            quotes: "[::1]:8443")
            == Unquoted [::1] as a key
            mappings:
              img.shop.example: { addresses: { [2001:db8::7]:8443: 5 } }
            =>
            f.yaml:3:36: an unquoted [ begins a YAML list, and this is not one (put IPv6 addresses with brackets in \
            quotes: "[2001:db8::7]:8443")
            == An anchor and its alias
            mappings:
              a.example: &web [203.0.113.7]
              b.example: *web
            =>
            f.yaml:4:14: "*web" is a YAML alias; anchors and aliases are not supported (write the value out, or put \
            the text in quotes if no alias was meant)
            == An anchor alone
            mappings:
              a.example: &web [203.0.113.7]
            =>
            f.yaml:3:14: found a YAML anchor (&); anchors and aliases are not supported (remove it, or put the text \
            in quotes)
            == A merge key
            cache:
              <<: { entries: 5 }
            =>
            f.yaml:3:3: "<<" is not a key of cache; allowed: entries, bytes, ttl, stale_limit, stale_after, refresh_ahead, \
            refresh_idle_names, preresolve, snapshot (merge keys are not supported: write the keys out)
            == A tag
            mappings:
              a.example: !ENV A
            =>
            f.yaml:3:14: found the YAML tag "!ENV"; tags are not supported (remove it, or put the text in quotes)
            == A standard tag
            cache: { entries: !!int "5" }
            =>
            f.yaml:2:19: found the YAML tag "!!int"; tags are not supported (remove it, or put the text in quotes)
            == Two documents
            ---
            version: 1
            =>
            f.yaml:2:1: found a second document; allowed: one document in a file
            == Something behind the end of the document
            ...
            junk
            =>
            f.yaml:3:1: found a second document; allowed: one document in a file
            == A list that is not closed
            mappings:
              a.example: [203.0.113.7
              b.example: 203.0.113.8
            =>
            f.yaml:4:12: expected "," or "]" in the list that begins on line 3
            == A mapping that is not closed
            cache: { entries: 5
            =>
            f.yaml:2:8: the bracket that begins here never ends
            == A quotation mark that is not closed
            mappings:
              "a.example: 203.0.113.7
            =>
            f.yaml:3:3: the text in quotation marks that begins here never ends
            == A value with a colon
            mappings:
              a.example: 203.0.113.7 # ok
              b.example: via: c.example
            =>
            f.yaml:4:17: found a second ": " where a value stands, or a line that is indented too far (put a value \
            that holds ": " in quotes, or align the line with the lines around it)
            == Wrong indentation
            cache:
                entries: 5
              ttl: { min: 1s }
            =>
            f.yaml:4:3: found "ttl: { min: 1s }" where a key of the mapping from line 1 was expected (align the line \
            with the lines around it; a value with more behind closing quotes or brackets needs quotes)
            == A value that begins with @
            mappings:
              a.example: @web
            =>
            f.yaml:3:14: a value cannot begin with "@" (put the value in quotes)
            == A line without a colon
            mappings:
              a.example: 203.0.113.7
              b.example
            =>
            f.yaml:4:3: the line has no ": "; allowed: KEY: VALUE
            == Text behind a quoted value
            mappings:
              a.example: "203.0.113.7" 5
            =>
            f.yaml:3:28: found "5" where a key of the mapping from line 3 was expected (align the line with the \
            lines around it; a value with more behind closing quotes or brackets needs quotes)
            === JSON with a comment
            {
              // which
              "version": 1
            }
            =>
            f.yaml:3:12: expected "," or "}" in the mapping that begins on line 1 (comments begin with #; JSON needs \
            a comma between entries)
            === JSON without a comma
            { "version": 1
              "cache": {} }
            =>
            f.yaml:2:10: expected "," or "}" in the mapping that begins on line 1
            === JSON with a surrogate pair
            { "version": 1, "mappings": { "\\ud83d\\ude00.example": "203.0.113.7" } }
            =>
            f.yaml:1:34: found an escape for half a character (a surrogate pair), which YAML does not know (write \
            the character itself)
            == A control character
            mappings:
              a.example: 203.0.113.7\u{7}
            =>
            f.yaml:3:25: "\\u{7}" is a control character, which YAML does not allow (remove it)
            == A key that is a list
            mappings:
              ? [a.example]
              : 203.0.113.7
            =>
            f.yaml:3:5: mappings: found a list as a key; allowed: text (put a key that begins with [ or { in quotes, \
            such as "[2001:db8::7]:8443")
            """
        )
    )
    func isShown(_ mistake: MistakeCase) {
        #expect(mistake.error() == mistake.expected)
    }
}
#endif
