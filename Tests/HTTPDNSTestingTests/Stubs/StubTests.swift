// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@Suite("Stubs")
struct StubTests {}
