<?php
// WordPress's database class, which writes each statement with its answer to the file LOG. It sorts rows and lists of
// numbers, because few statements define the order of all rows; pages show the order where it matters. Of the answers
// about tables, in which servers differ, it keeps only the number of rows.
class recording_wpdb extends wpdb {
    public function query( $query ) {
        $result = parent::query( $query );
        $rows = array_map( 'json_encode', $this->last_result ?: array() );
        if ( preg_match( '/^\s*(SHOW|DESCRIBE|CHECK|ANALYZE|REPAIR|OPTIMIZE)\b/i', $query ) ) {
            $rows = array();
        }
        sort( $rows );
        $in_order = function ( $list ) {
            $numbers = preg_split( '/,\s*/', $list[1] );
            sort( $numbers );
            return 'IN (' . implode( ',', $numbers ) . ')';
        };
        $answer = array(
            'statement' => preg_replace_callback( "/\\bIN \\(([\\d, ']+)\\)/", $in_order, $this->last_query ),
            'result'    => $result,
            'error'     => $this->last_error === '' ? '' : 'error ' . mysqli_errno( $this->dbh ),
            'inserted'  => $this->insert_id,
            'rows'      => $rows,
        );
        file_put_contents( getenv( 'LOG' ), json_encode( $answer, JSON_PARTIAL_OUTPUT_ON_ERROR ) . "\n", FILE_APPEND );
        return $result;
    }
}
$wpdb = new recording_wpdb( DB_USER, DB_PASSWORD, DB_NAME, DB_HOST );
