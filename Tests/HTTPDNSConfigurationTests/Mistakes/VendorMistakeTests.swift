// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSConfiguration
import Testing

#if YAML
struct VendorMistakeTests {
    @Test(
        "An error in a vendor's account is shown offline and without its secrets",
        arguments: MistakeCase.table(
            """
            == An account that is missing
            providers:
              ali: { kind: alibaba-v2 }
            =>
            f.yaml:3:3: providers["ali"]: the key "account" is missing (it is the number in the vendor's console, \
            such as account: 100000)
            == A secret in clear
            providers:
              ali: { kind: alibaba-v1, account: 100000, secret: IAmASecret }
            =>
            f.yaml:3:53: providers["ali"].secret: found a value; allowed: { file: PATH } or { env: NAME } \
            (a secret itself does not belong into this file)
            == A cipher without its key
            providers:
              ali: { kind: alibaba-v2, account: 100000, encryption: gcm }
            =>
            f.yaml:3:3: providers["ali"]: encryption and encryption_key belong together, and one is missing \
            (such as encryption: gcm with encryption_key: { env: ALIBABA_AES_KEY })
            == A cipher that there is not
            providers:
              ali: { kind: alibaba-v2, account: 100000, encryption: des, encryption_key: { env: A } }
            =>
            f.yaml:3:57: providers["ali"].encryption: found "des"; allowed: cbc, gcm
            == A cipher in version 1
            providers:
              ali: { kind: alibaba-v1, account: 100000, encryption: gcm }
            =>
            f.yaml:3:45: "encryption" is not a key of a provider of kind alibaba-v1; allowed: kind, url, bootstrap, \
            ca_file, answer_scope, limits, account, secret, region, custom_parameters, discovery, addresses_file (it is \
            a key of a provider of kind alibaba-v2)
            == A region without addresses
            providers:
              ali: { kind: alibaba-v2, account: 100000, region: global }
            =>
            f.yaml:3:53: providers["ali"].region: the region global has no published addresses (add bootstrap: \
            [ADDRESS] with those that the vendor gave you)
            == A region that there is not
            providers:
              ali: { kind: alibaba-v2, account: 100000, region: uk }
            =>
            f.yaml:3:53: providers["ali"].region: found "uk"; allowed: cn, hk, sg, de, us, global (did you mean "hk"?)
            == Tencent without a secret
            providers:
              tc: { kind: tencent, account: 100000 }
            =>
            f.yaml:3:3: providers["tc"]: it needs secret, the token, or encryption_key, the AES key, and not both \
            (such as secret: { env: TENCENT_TOKEN })
            == Tencent with both secrets
            providers:
              tc: { kind: tencent, account: 100000, secret: { env: A }, encryption_key: { env: B } }
            =>
            f.yaml:3:3: providers["tc"]: it needs secret, the token, or encryption_key, the AES key, and not both \
            (such as secret: { env: TENCENT_TOKEN })
            == Statuses that refuse nobody's account, and one that is none
            providers:
              tc: { kind: tencent, account: 100000, secret: { env: A }, account_refusal_statuses: [401, 429, x] }
            =>
            f.yaml:3:93: providers["tc"].account_refusal_statuses: found "429"; allowed: HTTP statuses, one or a list: \
            400 to 499 but 408 and 429
            f.yaml:3:98: providers["tc"].account_refusal_statuses: found "x"; allowed: HTTP statuses, one or a list: 400 \
            to 499 but 408 and 429
            == A region that Tencent has not
            providers:
              tc: { kind: tencent, account: 100000, secret: { env: A }, region: hk }
            =>
            f.yaml:3:69: providers["tc"].region: found "hk"; allowed: cn, intl
            == A cipher as Alibaba has it
            providers:
              tc: { kind: tencent, account: 100000, encryption: des, encryption_key: { env: A } }
            =>
            f.yaml:3:41: "encryption" is not a key of a provider of kind tencent; allowed: kind, url, bootstrap, \
            ca_file, answer_scope, limits, account, secret, encryption_key, region, expiry, encrypt_client_subnet, \
            account_refusal_statuses, discovery, addresses_file (it is a key of a provider of kind alibaba-v2)
            """
        )
    )
    func mistakes(example: MistakeCase) {
        #expect(example.error() == example.expected)
    }

    @Test("An error that only the provider detects is reported with its location")
    func parameters() {
        let text = """
            version: 1
            providers:
              ali: { kind: alibaba-v2, account: 100000, custom_parameters: { city: "h z" } }

            """
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.parse(text, name: "f.yaml")
        }
        #expect(
            error?.description.hasPrefix("f.yaml:3:3: providers[\"ali\"]: the value of the custom parameter city")
                == true
        )
    }
}
#endif
