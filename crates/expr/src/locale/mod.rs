//! Locales: the separators of their numbers, and the names of months and days (`time_names`).

mod time_names;

pub use time_names::TimeNames;

/// The separators of a locale's numbers.
pub(crate) struct Locale {
    pub(crate) point: &'static str,
    pub(crate) separator: &'static str,
    /// Whether a group begins with that many digits left.
    pub(crate) groups: fn(usize) -> bool,
}

fn threes(left: usize) -> bool {
    left.is_multiple_of(3)
}

/// Groups of three, then of two.
fn indian(left: usize) -> bool {
    left == 3 || left > 3 && left % 2 == 1
}

fn never(_: usize) -> bool {
    false
}

pub(crate) static ENGLISH: Locale = Locale { point: ".", separator: ",", groups: threes };

/// Returns the locale of that name, in any case.
pub(crate) fn locale(name: &str) -> Option<&'static Locale> {
    known_locale(name).map(|(locale, _)| locale)
}

/// Returns MySQL's spelling of a locale's name, given in any case.
pub fn locale_name(name: &str) -> Option<&'static str> {
    known_locale(name).map(|(_, known)| known)
}

fn known_locale(name: &str) -> Option<(&'static Locale, &'static str)> {
    locales().find(|(_, known)| known.eq_ignore_ascii_case(name))
}

fn locales() -> impl Iterator<Item = (&'static Locale, &'static str)> {
    LOCALES.iter().flat_map(|(locale, names)| names.split(' ').map(move |known| (locale, known)))
}

/// Returns the names of all locales.
#[cfg(test)]
pub(crate) fn locale_names() -> impl Iterator<Item = &'static str> {
    locales().map(|(_, name)| name)
}

/// MySQL's locales.
static LOCALES: &[(Locale, &str)] = &[
    (
        Locale { point: ".", separator: ",", groups: threes },
        "ar_AE ar_BH ar_DZ ar_EG ar_IN ar_IQ ar_JO ar_KW ar_LB ar_LY ar_MA ar_OM ar_QA ar_SD \
         ar_SY ar_TN ar_YE en_AU en_CA en_GB en_NZ en_PH en_US en_ZA en_ZW es_DO es_GT es_HN \
         es_MX es_NI es_PA es_PE es_PR es_SV es_US gu_IN he_IL hi_IN ja_JP ko_KR ms_MY th_TH \
         ur_PK zh_CN zh_HK zh_TW",
    ),
    (Locale { point: ".", separator: "", groups: never }, "ar_SA sr_RS"),
    (
        Locale { point: ",", separator: ".", groups: threes },
        "be_BY da_DK de_BE de_DE de_LU es_AR es_BO es_CL es_CO es_EC es_ES es_PY es_UY es_VE \
         fo_FO hu_HU id_ID is_IS lt_LT mn_MN nb_NO no_NO ro_RO ru_UA sq_AL tr_TR uk_UA vi_VN",
    ),
    (Locale { point: ",", separator: "\0", groups: threes }, "bg_BG"),
    (
        Locale { point: ",", separator: "", groups: never },
        "ca_ES de_AT el_GR eu_ES fr_BE fr_CA fr_CH fr_FR fr_LU gl_ES hr_HR it_IT nl_BE nl_NL \
         pl_PL pt_BR pt_PT sl_SI",
    ),
    (
        Locale { point: ",", separator: " ", groups: threes },
        "cs_CZ es_CR et_EE fi_FI lv_LV mk_MK ru_RU sk_SK sv_FI sv_SE",
    ),
    (Locale { point: ".", separator: "'", groups: threes }, "de_CH"),
    (Locale { point: ".", separator: ",", groups: indian }, "en_IN ta_IN te_IN"),
    (Locale { point: ",", separator: "'", groups: threes }, "it_CH rm_CH"),
];
